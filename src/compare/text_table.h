// Tables of text for a terminal.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tandem {

/// Returns a table as lines of text. `columns` has the cells of each column from top to bottom, as
/// many in each. The cells of the first column are aligned to the left, those of the others to the
/// right.
std::string TextTable(std::span<const std::vector<std::string>> columns);

}  // namespace tandem
