// The output of `tandem solve`: a result for each puzzle, and a summary.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "base/file.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "train/states_file.h"

namespace tandem {

/// `SolveResult` is the outcome of one line of the states file.
struct SolveResult {
  Problem line;
  SearchResult search;
  std::string error;  ///< why there is no solution; "" if there is one
};

/// Returns the JSON object of a result. docs/solve.md lists its keys.
nlohmann::ordered_json ToJson(const SolveResult& result, const Domain& domain);

/// Describes a result in one line of text.
std::string Describe(const SolveResult& result, const Domain& domain);

/// Summarises all results in a table of text. `seconds` is their total time.
std::string Summarise(const std::vector<SolveResult>& results, double seconds);

/// `ResultWriter` writes results as they arrive. JSON lines go to --out if it is given, else to
/// standard output. Readable lines go to standard output if --out is given or standard output is a
/// terminal.
class ResultWriter {
 public:
  /// Opens --out, so that a wrong name fails before any work is done. Throws InputError if the file
  /// cannot be written.
  explicit ResultWriter(const SolveArgs& args);

  /// Writes one result. If the file cannot be written, for example because the disk is full, throws
  /// Error once. The file then keeps the earlier results, and later ones go only to standard
  /// output.
  void Write(const SolveResult& result, const Domain& domain);

  /// Completes the file and prints the summary.
  void Finish(const std::vector<SolveResult>& results, double seconds);

 private:
  void WriteToFile(const std::string& line);
  void Print(const std::string& text);

  bool for_people_;
  std::optional<AtomicFile> file_;
  std::int64_t written_ = 0;
  bool failed_ = false;
};

}  // namespace tandem
