// Fuzzes puzzles without code. A file that is accepted must give a domain whose goal can be written
// and read back; any other file must give an InputError.
#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "domains/permutation/puzzle_file.h"
#include "fuzz/round_trip.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::optional<PuzzleFile> Parse(const std::string& text) {
  const bool is_gap = text.find(":=") != std::string::npos;
  try {
    if (text.starts_with("puzzle_type")) {  // both tables in one
      std::istringstream moves(text);
      std::istringstream goals(text);
      return ParsePuzzle(YamlOfTables(moves, goals, "0"), "fuzz.csv");
    }
    return ParsePuzzle(text, is_gap ? "fuzz.gap" : "fuzz.yaml");
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto puzzle = tandem::Parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!puzzle) return 0;
  const auto domain = tandem::MakePuzzle("fuzz", *puzzle);
  std::vector<std::uint8_t> goal(static_cast<std::size_t>(domain->spec().state_size));
  domain->WriteGoals(tandem::Rows(std::span(goal)));
  tandem::MustRoundTrip(*domain, goal);
  return 0;
}
