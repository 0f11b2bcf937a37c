#include "shards/chunk_hash.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/parallel.h"

namespace tandem {
namespace {

// Makes a task of about a tenth of a millisecond.
constexpr std::size_t kPartsATask = 2;

std::size_t PartsOf(std::size_t bytes) { return (bytes + kHashedBytes - 1) / kHashedBytes; }

template <class Byte>
std::span<Byte> PartOf(std::span<Byte> bytes, std::size_t part) {
  const std::size_t begin = part * kHashedBytes;
  return bytes.subspan(begin, std::min(kHashedBytes, bytes.size() - begin));
}

std::string HashOf(std::span<const std::byte> bytes) {
  Hash hash;
  hash.Add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return hash.Hex();
}

std::string HashOfAll(const std::vector<std::string>& parts) {
  Hash hash;
  for (const std::string& part : parts) hash.Add(part);
  return hash.Hex();
}

}  // namespace

std::string ChunkHash(std::span<const std::byte> bytes) {
  std::vector<std::string> parts(PartsOf(bytes.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = HashOf(PartOf(bytes, i));
  return HashOfAll(parts);
}

std::string ChunkHash(std::span<std::byte> bytes,
                      const std::function<void(std::size_t, std::span<std::byte>)>& read) {
  std::vector<std::string> parts(PartsOf(bytes.size()));
  ForRanges(parts.size(), kPartsATask, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      const std::span<std::byte> part = PartOf(bytes, i);
      read(i * kHashedBytes, part);
      parts[i] = HashOf(part);
    }
  });
  return HashOfAll(parts);
}

}  // namespace tandem
