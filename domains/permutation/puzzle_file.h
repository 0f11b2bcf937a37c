// A puzzle without code: a YAML file with the permutations of its moves and its solved state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
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

/// Returns the YAML of a puzzle of the competition Santa 2023 from its tables: puzzle_info.csv
/// (columns puzzle_type and allowed_moves) and puzzles.csv (id, puzzle_type and solution_state).
/// `name` is a puzzle_type, whose goal is then the solution_state of its first row, or the id of a
/// row. Each move M also exists inverted, as -M. Throws InputError that says what is missing.
std::string YamlOfTables(std::istream& puzzle_info, std::istream& puzzles, const std::string& name);

/// Makes the domain permutation:NAME from a puzzle that ParsePuzzle returned. Its networks read
/// pieces (PieceInput) if `reads_pieces`. Throws InputError if they cannot.
std::unique_ptr<const Domain> MakePuzzle(const std::string& name, PuzzleFile puzzle,
                                         bool reads_pieces = false);

}  // namespace tandem
