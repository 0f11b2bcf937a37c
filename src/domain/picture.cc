#include "tandem/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"

namespace tandem {
namespace {

constexpr int kUnit = 40;  // side of a square in SVG units
constexpr const char* kPlainFill = "#f4f4f0";

int Red(std::int32_t colour) { return colour >> 16 & 0xff; }
int Green(std::int32_t colour) { return colour >> 8 & 0xff; }
int Blue(std::int32_t colour) { return colour & 0xff; }

// Whether white text is easier to read on `colour` than black text.
bool NeedsWhiteText(std::int32_t colour) {
  return 299 * Red(colour) + 587 * Green(colour) + 114 * Blue(colour) < 110'000;
}

// Pads or cuts the text to `width` characters. The text of a wide cell is centred. In other cells
// it is right-aligned, so that numbers form columns.
std::string Set(const std::string& text, std::size_t width, bool wide) {
  if (text.size() >= width) return text.substr(0, width);
  const std::size_t spaces = width - text.size();
  const std::size_t left = wide ? (spaces + 1) / 2 : spaces;
  return std::string(left, ' ') + text + std::string(spaces - left, ' ');
}

// The text of a cell, `width` characters wide. A wide cell whose colour is not shown is put in
// brackets if they leave room for a text.
std::string Inner(const Cell& cell, std::size_t width, bool colour) {
  const bool wide = cell.width > 1;
  const bool coloured = colour && cell.colour != Cell::kPlain;
  const std::string& text =
      coloured || cell.without_colour.empty() ? cell.text : cell.without_colour;
  const bool has_brackets = wide && !coloured && cell.colour != Cell::kPlain && width > 2;
  if (!has_brackets) return Set(text, width, wide);
  return fmt::format("[{}]", Set(text, width - 2, wide));
}

std::string Painted(const std::string& text, std::int32_t colour) {
  return fmt::format("\x1b[48;2;{};{};{}m\x1b[38;5;{}m{}\x1b[0m", Red(colour), Green(colour),
                     Blue(colour), NeedsWhiteText(colour) ? 231 : 16, text);
}

std::string SvgCell(const Cell& cell) {
  const std::string fill =
      cell.colour == Cell::kPlain ? kPlainFill : fmt::format("#{:06x}", cell.colour);
  std::string svg = fmt::format(
      "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{}\" rx=\"3\" fill=\"{}\" "
      "stroke=\"#333\"/>\n",
      cell.x * kUnit + 1, cell.y * kUnit + 1, cell.width * kUnit - 2, kUnit - 2, fill);
  if (cell.text.empty() || cell.text == " ") return svg;
  const bool white = cell.colour != Cell::kPlain && NeedsWhiteText(cell.colour);
  return svg + fmt::format("<text x=\"{:g}\" y=\"{:g}\" dy=\"0.35em\" fill=\"{}\">{}</text>\n",
                           (cell.x + cell.width / 2) * kUnit, (cell.y + 0.5F) * kUnit,
                           white ? "#fff" : "#000", XmlEscaped(cell.text));
}

}  // namespace

std::string ToTerminal(const Picture& picture, bool colour) {
  // Cells by row, then by column of the terminal.
  std::map<long, std::map<long, const Cell*>> rows;
  for (const Cell& cell : picture.cells) {
    rows[std::lround(cell.y)][std::lround(cell.x * static_cast<float>(picture.unit_width))] = &cell;
  }
  std::string text;
  long line = rows.empty() ? 0 : rows.begin()->first;
  for (const auto& [row, cells] : rows) {
    for (; line < row; ++line) text += '\n';
    std::string shown;
    long at = 0;
    for (const auto& [column, cell] : cells) {
      const auto width = std::lround(cell->width * static_cast<float>(picture.unit_width));
      if (column > at) shown += std::string(static_cast<std::size_t>(column - at), ' ');
      const std::string inner = Inner(*cell, static_cast<std::size_t>(width), colour);
      shown += colour && cell->colour != Cell::kPlain ? Painted(inner, cell->colour) : inner;
      at = std::max(at, column) + width;
    }
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown;
  }
  return text + "\n";
}

std::string ToSvg(const Picture& picture) {
  float width = 0;
  float height = 0;
  std::string cells;
  for (const Cell& cell : picture.cells) {
    width = std::max(width, cell.x + cell.width);
    height = std::max(height, cell.y + 1);
    cells += SvgCell(cell);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-10 -10 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" font-family=\"sans-serif\" font-size=\"17\" text-anchor=\"middle\">\n"
      "<rect x=\"-10\" y=\"-10\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
      width * kUnit + 20, height * kUnit + 20, cells);
}

}  // namespace tandem
