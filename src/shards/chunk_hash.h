// The hash of a stored chunk.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace tandem {

/// Parts of a chunk that are hashed by themselves, so that several threads can read and check it. A
/// part stays in the processor's cache in between.
inline constexpr std::size_t kHashedBytes = 256 << 10;

/// The hash of the hashes of the parts of `bytes`, as digits.
std::string ChunkHash(std::span<const std::byte> bytes);

/// The same of what `read` puts there: it is called for each part, with the place where that
/// begins, on any of TBB's threads and in any order. Throws what it throws.
std::string ChunkHash(std::span<std::byte> bytes,
                      const std::function<void(std::size_t, std::span<std::byte>)>& read);

}  // namespace tandem
