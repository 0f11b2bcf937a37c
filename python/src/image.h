// Paints pictures of states into pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/picture.h"

namespace tandem::python {

/// ImageSize is a size in pixels.
struct ImageSize {
  std::size_t height = 1;
  std::size_t width = 1;
};

/// Returns the size of an image that any of the pictures fits into. A unit has `scale` pixels.
ImageSize SizeOf(const std::vector<Picture>& pictures, int scale);

/// Paints a picture on white. `pixels` has 3 bytes for each pixel: red, green and blue. Leaves a
/// line of a pixel between cells if `scale` is above 4.
void Paint(const Picture& picture, int scale, ImageSize size, std::span<std::uint8_t> pixels);

}  // namespace tandem::python
