// A puzzle without code: a YAML file with the permutations of its moves and its solved state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

/// Far more than a puzzle needs. The parser takes some hundred bytes of memory for each value.
inline constexpr std::size_t kMostPuzzleBytes = std::size_t{16} << 20;

struct PuzzleFile {
  std::string summary;
  std::vector<std::string> labels;
  std::vector<std::uint16_t> goal;  ///< the number of the label at each position

  // By action. An inverse that was added follows the action that it undoes.
  std::vector<std::string> names;
  std::vector<Permutation> permutations;
  std::vector<float> costs;

  // For drawing; empty if the file does not specify them.
  std::vector<std::pair<float, float>> layout;  ///< x and y by position
  std::vector<std::int32_t> colours;            ///< by label, 0xRRGGBB
};

/// Reads the text of a puzzle file. docs/guide/puzzles.md describes the format. Throws InputError
/// that names `file`, the line, the generator and the position of an error, or if the text has more
/// than kMostPuzzleBytes bytes.
PuzzleFile ParsePuzzle(const std::string& text, const std::string& file);

/// Makes the domain permutation:NAME from a puzzle that ParsePuzzle returned. Its networks read
/// pieces (PieceInput) if `reads_pieces`. Throws InputError if they cannot.
std::unique_ptr<const Domain> MakePuzzle(const std::string& name, PuzzleFile puzzle,
                                         bool reads_pieces = false);

}  // namespace tandem
