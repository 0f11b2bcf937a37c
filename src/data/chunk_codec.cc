#include "data/chunk_codec.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "base/parallel.h"
#include "base/text.h"
#include "data/data_buffer.h"
#include "tandem/error.h"

namespace tandem {

std::optional<Compression> ParseCompression(std::string_view name) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    if (name == NameOf(compression)) return compression;
  }
  return std::nullopt;
}

std::string_view NameOf(Compression compression) {
  return compression == Compression::kZstd ? "zstd" : "none";
}

std::string Compress(std::span<const std::byte> bytes) {
  constexpr int kLevel = 3;  // Zstandard's default
  std::string frame(MaxCompressedBytes(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0) {
    throw Error(fmt::format("cannot compress a chunk: {}", ZSTD_getErrorName(size)));
  }
  frame.resize(size);
  return frame;
}

std::size_t MaxCompressedBytes(std::size_t bytes) { return ZSTD_compressBound(bytes); }

void Decompress(std::string_view frame, std::span<std::byte> to) {
  const std::size_t size = ZSTD_decompress(to.data(), to.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0) {
    throw Error(fmt::format("it cannot be decompressed: {}", ZSTD_getErrorName(size)));
  }
  if (size != to.size()) {
    throw Error(fmt::format("it decompresses to {} bytes, expected {}", size, to.size()));
  }
}

namespace {

// Makes a task of about a tenth of a millisecond.
constexpr std::size_t kPartsPerTask = 2;

std::size_t PartsOf(std::size_t bytes) { return (bytes + kHashedBytes - 1) / kHashedBytes; }

template <class Byte>
std::span<Byte> PartOf(std::span<Byte> bytes, std::size_t part) {
  const std::size_t begin = part * kHashedBytes;
  return bytes.subspan(begin, std::min(kHashedBytes, bytes.size() - begin));
}

std::string HashOfAll(const std::vector<std::string>& parts) {
  Hash hash;
  for (const std::string& part : parts) hash.Add(part);
  return hash.Hex();
}

}  // namespace

std::string ChunkHash(std::span<const std::byte> bytes) {
  std::vector<std::string> parts(PartsOf(bytes.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = HashOf(TextOf(PartOf(bytes, i)));
  return HashOfAll(parts);
}

std::string ChunkHash(std::span<std::byte> bytes,
                      const std::function<void(std::size_t, std::span<std::byte>)>& read) {
  std::vector<std::string> parts(PartsOf(bytes.size()));
  ForRanges(parts.size(), kPartsPerTask, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      const std::span<std::byte> part = PartOf(bytes, i);
      read(i * kHashedBytes, part);
      parts[i] = HashOf(TextOf(part));
    }
  });
  return HashOfAll(parts);
}

}  // namespace tandem
