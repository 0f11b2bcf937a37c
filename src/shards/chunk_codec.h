// Compression of chunks (Zstandard).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

/// Compresses `bytes` into one Zstandard frame.
std::string Compress(std::span<const std::byte> bytes);

/// The largest possible size of the frame that Compress makes of `bytes` bytes.
std::size_t MostCompressedBytes(std::size_t bytes);

/// Decompresses `frame` into `to`. Throws Error if the frame is damaged or does not hold exactly
/// to.size() bytes.
void Decompress(std::string_view frame, std::span<std::byte> to);

}  // namespace tandem
