// What `tandem solve` tells of each puzzle and of all together.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "base/file.h"
#include "run/states_file.h"
#include "search/search.h"
#include "tandem/domain.h"

namespace tandem {

struct SolveResult {
  Problem line;
  SearchResult search;
  std::string error;  ///< why there is no solution; "" where there is one
};

/// One JSON object; docs/solve.md lists its keys.
nlohmann::ordered_json ToJson(const SolveResult& result, const Domain& domain);

/// A line for people.
std::string Describe(const SolveResult& result, const Domain& domain);

/// A table for people. `seconds` is how long all of them took together.
std::string Summarise(const std::vector<SolveResult>& results, double seconds);

/// Where results go as they come: JSON lines to --out or to standard output, and lines for people
/// to standard output where they see it.
class ResultWriter {
 public:
  /// Throws InputError if --out cannot be written, before any work is done.
  explicit ResultWriter(const SolveArgs& args);

  /// Throws Error once where the disk is full or the results cannot be written for another reason.
  /// The file then keeps the results before that; later ones go to standard output alone.
  void Write(const SolveResult& result, const Domain& domain);

  /// Makes the file whole, and prints the table.
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
