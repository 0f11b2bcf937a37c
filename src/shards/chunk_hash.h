// The hash of a stored chunk.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace tandem {

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
