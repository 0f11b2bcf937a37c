// Pictures of states: coloured cells, shown in a terminal or as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

/// A rectangle with a text in its middle. One unit is the side of a square; y runs downwards.
struct Cell {
  /// A cell with no colour of its own.
  static constexpr std::int32_t kPlain = -1;

  float x = 0;  ///< of its left side; a terminal rounds to half a unit
  float y = 0;  ///< of its upper side; a terminal rounds to a unit
  std::string text;
  std::int32_t colour = kPlain;  ///< 0xRRGGBB
  float width = 1;
  std::string without_colour;  ///< replaces `text` where the colour cannot be seen, such as "#" for
                               ///< a wall; empty: `text` stays
};

struct Picture {
  std::vector<Cell> cells;  ///< none overlaps another

  /// Characters of a terminal for one unit: 2, so that it is about square, or more for longer
  /// texts.
  int unit_width = 2;
};

/// Lines of text, each ended by a line feed; with ANSI colours if `colour`.
std::string ToTerminal(const Picture& picture, bool colour);

/// A whole SVG document.
std::string ToSvg(const Picture& picture);

}  // namespace tandem
