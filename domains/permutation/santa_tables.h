// The puzzles of the Santa 2023 competition on Kaggle, as its tables define them.
#pragma once

#include <istream>
#include <string>

namespace tandem {

/// Returns the YAML of a puzzle from the tables puzzle_info.csv (columns puzzle_type and
/// allowed_moves) and puzzles.csv (id, puzzle_type and solution_state). `name` is a puzzle_type,
/// whose goal is then the solution_state of its first row, or the id of a row. Each move M also
/// exists inverted, as -M. Throws InputError, which says what is not in which table.
std::string YamlOfTables(std::istream& puzzle_info, std::istream& puzzles, const std::string& name);

}  // namespace tandem
