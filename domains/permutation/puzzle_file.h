// A puzzle without code: the permutations of its moves, and what its solved state looks like, in
// YAML.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

struct PuzzleFile {
  std::string summary;
  std::vector<std::string> labels;  ///< by byte of a state
  std::vector<std::uint8_t> goal;

  // By action; those that were added because they undo one that is given stand behind it.
  std::vector<std::string> names;
  std::vector<Permutation> permutations;
  std::vector<float> costs;

  // For drawing; empty where the file does not say.
  std::vector<std::pair<float, float>> layout;  ///< x and y by position
  std::vector<std::int32_t> colours;            ///< by label, 0xRRGGBB
};

/// Reads the text of a file. Throws InputError that names `file`, the line, the generator and the
/// position of what is wrong. docs/puzzles.md tells the format.
PuzzleFile ParsePuzzle(const std::string& text, const std::string& file);

/// The domain permutation:NAME of whatever ParsePuzzle returns.
std::unique_ptr<const Domain> MakePuzzle(const std::string& name, PuzzleFile puzzle);

}  // namespace tandem
