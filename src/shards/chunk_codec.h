// How chunks are compressed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

/// `bytes` as a Zstandard frame.
std::string Compress(std::span<const std::byte> bytes);

/// The most bytes that a frame of so many may have.
std::size_t MostCompressedBytes(std::size_t bytes);

/// The inverse. Throws Error that says what is wrong if `frame` does not hold to.size() bytes.
void Decompress(std::string_view frame, std::span<std::byte> to);

}  // namespace tandem
