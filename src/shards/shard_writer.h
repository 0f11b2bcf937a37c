// Writes shards.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/file.h"
#include "buffer/data_buffer.h"
#include "shards/shard_header.h"

namespace tandem {

/// Writes one shard, chunk by chunk. The file appears with Commit, whole. Methods throw Error that
/// names the file.
class ShardWriter {
 public:
  ShardWriter(const std::filesystem::path& folder, const ShardSetSpec& set, std::int64_t shard);

  /// Appends the next chunk: `rows` has the set's schema and as many rows as that chunk.
  void Add(const DataBuffer& rows);

  /// Requires that all chunks were added. Returns the bytes of the file.
  std::int64_t Commit();

 private:
  ShardHeader header_;
  std::size_t added_ = 0;
  std::int64_t end_ = 0;  // of what is written
  AtomicFile file_;
};

}  // namespace tandem
