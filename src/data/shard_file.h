// Writes a shard, and reads and verifies its chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/file.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/shard_format.h"

namespace tandem {

/// ShardWriter writes one shard, chunk by chunk. The file appears only at Commit, complete. All
/// methods throw Error that names the file if writing fails.
class ShardWriter {
 public:
  /// Writes shard `shard` of `set` to `path`.
  ShardWriter(const std::filesystem::path& path, const ShardSetSpec& set, std::int64_t shard);

  /// Appends the next chunk. `rows` must have the set's schema and exactly as many rows as the
  /// chunk.
  void Add(const DataBuffer& rows);

  /// Makes the file appear. Requires that all chunks were added. Returns the file's size in bytes.
  std::int64_t Commit();

 private:
  ShardHeader header_;
  std::size_t added_ = 0;
  AtomicFile file_;
};

/// Names a chunk in messages: "PATH, chunk 2". `chunk` counts from the file's first one, which is
/// 0.
std::string ChunkName(const std::filesystem::path& path, std::int64_t chunk);

/// Reads a chunk of the shard at `path`, whose header is `header`, into the first bytes of `to` and
/// verifies its hash. `chunk` counts from the shard's first one. Throws DamagedShard if the chunk
/// is damaged or missing, and SystemError if the system refuses to read the file, which says
/// nothing about damage.
void ReadChunk(const std::filesystem::path& path, const ShardHeader& header, std::int64_t chunk,
               std::span<std::byte> to);

}  // namespace tandem
