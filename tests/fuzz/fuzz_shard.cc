// Fuzzes whole shards: the header, the place and size of each chunk, its hash and, if it is
// compressed, its frame. Bytes that do not begin as a shard are a compressed chunk by themselves.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "data/shard_set.h"
#include "fuzz/as_file.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kChunkBytes = 512;     // of a chunk by itself
constexpr std::size_t kMostBytes = 1 << 16;  // larger chunks are not read

void ReadFrame(std::string_view frame) {
  std::vector<std::byte> chunk(kChunkBytes);  // so that writes beyond it are detected
  Decompress(frame, chunk);
}

void ReadShard(std::string_view text) {
  static const TempFolder folder;
  std::ofstream(ShardPath(folder.path(), 0), std::ios::binary) << text;
  const ShardSet set(folder.path());
  if (set.spec().BytesOfChunk(0) > kMostBytes) return;
  for (std::int64_t chunk = 0; chunk < set.spec().num_chunks() && chunk < 16; ++chunk) {
    std::vector<std::byte> memory(set.spec().BytesOfChunk(chunk));
    try {
      set.Read(chunk, memory);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = tandem::AsText(data, size);
  try {
    if (text.starts_with("tandem")) {
      tandem::ReadShard(text);
    } else {
      tandem::ReadFrame(text);
    }
  } catch (const tandem::Error&) {
  }
  return 0;
}
