// The compression and the hash of a chunk in a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

/// Compression says how the chunks of a set are compressed.
enum class Compression : std::uint8_t { kNone, kZstd };

/// "none" or "zstd".
std::string_view NameOf(Compression compression);

/// The compression of this name, or nothing.
std::optional<Compression> ParseCompression(std::string_view name);

/// Compresses `bytes` into one Zstandard frame.
std::string Compress(std::span<const std::byte> bytes);

/// The largest possible size of the frame that Compress makes of `bytes` bytes.
std::size_t MaxCompressedBytes(std::size_t bytes);

/// Decompresses `frame` into `to`. Throws Error if the frame is damaged or does not hold exactly
/// to.size() bytes.
void Decompress(std::string_view frame, std::span<std::byte> to);

/// A chunk is hashed in parts of this many bytes, so that several threads can read and hash it. A
/// part is small enough to stay in the processor's cache between reading and hashing.
inline constexpr std::size_t kHashedBytes = 256 << 10;

/// The hash of a chunk, as hexadecimal digits: the hash of the hashes of its parts.
std::string ChunkHash(std::span<const std::byte> bytes);

/// Reads a chunk into `bytes` and returns its ChunkHash. Calls `read` once for each part, with the
/// part's offset and its memory, on any TBB thread and in any order. Throws whatever `read` throws.
std::string ChunkHash(std::span<std::byte> bytes,
                      const std::function<void(std::size_t, std::span<std::byte>)>& read);

}  // namespace tandem
