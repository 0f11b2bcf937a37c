// The tables of Santa 2023, a competition on Kaggle.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "permutation/puzzle_file.h"
#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

// TableReader reads the rows of a CSV file. Quotes in a quoted field are doubled.
class TableReader {
 public:
  TableReader(std::istream& in, std::string file) : in_(in), file_(std::move(file)) { Next(); }

  // Reads the next row; false at the end.
  bool Next() {
    const bool is_header = columns_.empty();
    row_.assign(1, "");
    bool is_quoted = false;
    std::size_t size = 0;
    char last = '\n';
    char letter = '\n';
    while (in_.get(letter) && (is_quoted || letter != '\n')) {
      if (++size > kMostPuzzleBytes) {
        throw InputError(file_ + ": a row has more than " + std::to_string(kMostPuzzleBytes) +
                         " bytes");
      }
      if (letter == '"') {
        if (!is_quoted && last == '"') row_.back() += '"';
        is_quoted = !is_quoted;
      } else if (letter == ',' && !is_quoted) {
        row_.emplace_back();
      } else if (letter != '\r') {
        row_.back() += letter;
      }
      last = letter;
    }
    if (is_header) columns_ = row_;
    return size > 0 || in_;
  }

  // The field of the current row. Throws InputError if there is no such column.
  std::string operator[](const std::string& column) const {
    const auto at = std::ranges::find(columns_, column) - columns_.begin();
    if (static_cast<std::size_t>(at) == columns_.size()) {
      throw InputError(file_ + ": expected a column " + column + ", found " +
                       ShortList(columns_, ", "));
    }
    return static_cast<std::size_t>(at) < row_.size() ? row_[static_cast<std::size_t>(at)] : "";
  }

 private:
  std::istream& in_;
  std::string file_;
  std::vector<std::string> columns_, row_;
};

}  // namespace

std::string YamlOfTables(std::istream& puzzle_info, std::istream& puzzles,
                         const std::string& name) {
  TableReader goals(puzzles, "puzzles.csv");
  std::string type;
  while (type.empty() && goals.Next()) {
    if (goals["puzzle_type"] == name || goals["id"] == name) type = goals["puzzle_type"];
  }
  TableReader moves(puzzle_info, "puzzle_info.csv");
  bool is_known = false;
  while (!is_known && moves.Next()) is_known = moves["puzzle_type"] == type;
  if (type.empty() || !is_known) {
    throw InputError("puzzle_info.csv and puzzles.csv have no puzzle of type or id " +
                     Quoted(name));
  }
  std::string goal = goals["solution_state"];
  std::ranges::replace(goal, ';', ',');
  // A Python dict of lists is YAML too.
  return "{goal: [" + goal + "], inverses: minus, generators: " + moves["allowed_moves"] + "}";
}

}  // namespace tandem
