#include "shards/chunk_codec.h"

#include <fmt/format.h>
#include <zstd.h>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr int kLevel = 3;  // Zstandard's default

}  // namespace

std::string Compress(std::span<const std::byte> bytes) {
  std::string frame(MostCompressedBytes(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0) {
    throw Error(fmt::format("cannot compress a chunk: {}", ZSTD_getErrorName(size)));
  }
  frame.resize(size);
  return frame;
}

std::size_t MostCompressedBytes(std::size_t bytes) { return ZSTD_compressBound(bytes); }

void Decompress(std::string_view frame, std::span<std::byte> to) {
  const std::size_t size = ZSTD_decompress(to.data(), to.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0) {
    throw Error(fmt::format("it cannot be decompressed: {}", ZSTD_getErrorName(size)));
  }
  if (size != to.size()) {
    throw Error(fmt::format("it decompresses to {} bytes, expected {}", size, to.size()));
  }
}

}  // namespace tandem
