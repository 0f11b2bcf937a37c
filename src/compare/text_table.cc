#include "compare/text_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace tandem {

std::string TextTable(std::span<const std::vector<std::string>> columns) {
  std::vector<std::string> lines(columns.front().size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::vector<std::string>& cells = columns[c];
    const std::size_t width = std::ranges::max_element(cells, {}, &std::string::size)->size();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += c == 0 ? fmt::format("{:<{}}", cells[i], width)
                         : fmt::format("  {:>{}}", cells[i], width);
    }
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace tandem
