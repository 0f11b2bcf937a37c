#include "image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace tandem::python {
namespace {

using Colour = std::array<std::uint8_t, 3>;

constexpr std::uint8_t kWhite = 255;
constexpr int kSmallestWithLines = 5;  // pixels of a unit

std::size_t Pixels(float units, int scale) {
  return static_cast<std::size_t>(std::max(0L, std::lround(units * static_cast<float>(scale))));
}

// A shade between dark and light grey that depends on the text. Cells without a text are white.
Colour ShadeOf(std::string_view text) {
  if (text.find_first_not_of(' ') == std::string_view::npos) return {kWhite, kWhite, kWhite};
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : text) hash = (hash ^ static_cast<std::uint8_t>(letter)) * 16777619U;
  const auto shade = static_cast<std::uint8_t>(64 + hash % 160);
  return {shade, shade, shade};
}

Colour ColourOf(const Cell& cell) {
  if (cell.colour == Cell::kPlain) return ShadeOf(cell.text);
  return {static_cast<std::uint8_t>(cell.colour >> 16), static_cast<std::uint8_t>(cell.colour >> 8),
          static_cast<std::uint8_t>(cell.colour)};
}

}  // namespace

ImageSize SizeOf(const std::vector<Picture>& pictures, int scale) {
  ImageSize size;
  for (const Picture& picture : pictures) {
    for (const Cell& cell : picture.cells) {
      size.height = std::max(size.height, Pixels(cell.y + 1, scale));
      size.width = std::max(size.width, Pixels(cell.x + cell.width, scale));
    }
  }
  return size;
}

void Paint(const Picture& picture, int scale, ImageSize size, std::span<std::uint8_t> pixels) {
  std::ranges::fill(pixels, kWhite);
  const std::size_t line = scale < kSmallestWithLines ? 0 : 1;
  for (const Cell& cell : picture.cells) {
    const Colour colour = ColourOf(cell);
    // A cell without an area has no line.
    const std::size_t right = std::max(Pixels(cell.x + cell.width, scale), line) - line;
    const std::size_t below = std::max(Pixels(cell.y + 1, scale), line) - line;
    for (std::size_t y = Pixels(cell.y, scale); y < below; ++y) {
      for (std::size_t x = Pixels(cell.x, scale); x < right; ++x) {
        std::ranges::copy(colour,
                          pixels.begin() + static_cast<std::ptrdiff_t>(3 * (y * size.width + x)));
      }
    }
  }
}

}  // namespace tandem::python
