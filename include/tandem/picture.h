// Pictures of states: coloured cells, shown in a terminal or as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

/// Cell is a rectangle of height 1 with a centred text. One unit is the side of a square; y grows
/// downwards.
struct Cell {
  /// `colour` of a cell that has no colour of its own.
  static constexpr std::int32_t kPlain = -1;

  float x = 0;       ///< left edge, at least 0; a terminal rounds it to a character
  float y = 0;       ///< upper edge, at least 0; a terminal rounds it to a unit
  std::string text;  ///< one line; a terminal counts bytes, and cuts what the cell has no room for
  std::int32_t colour = kPlain;  ///< 0xRRGGBB
  float width = 1;               ///< above 0
  std::string without_colour;    ///< replaces `text` if colours are not shown, such as "#" for a
                                 ///< wall; empty: `text` is shown
};

/// Picture is a drawing made of cells.
struct Picture {
  std::vector<Cell> cells;  ///< must not overlap

  /// Characters per unit in a terminal, at least 1: 2, which makes a unit about square, or more for
  /// longer texts.
  int unit_width = 2;
};

/// Draws the picture as lines of text, each ended by a line feed; with ANSI colours if `colour`.
std::string ToTerminal(const Picture& picture, bool colour);

/// Draws the picture as a complete SVG document.
std::string ToSvg(const Picture& picture);

}  // namespace tandem
