// Writes one shard to disk.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/file.h"
#include "buffer/data_buffer.h"
#include "shards/shard_header.h"

namespace tandem {

/// ShardWriter writes one shard, chunk by chunk. The file appears only at Commit, complete. All
/// methods throw Error that names the file if writing fails.
class ShardWriter {
 public:
  ShardWriter(const std::filesystem::path& folder, const ShardSetSpec& set, std::int64_t shard);

  /// Appends the next chunk. `rows` must have the set's schema and exactly as many rows as the
  /// chunk.
  void Add(const DataBuffer& rows);

  /// Makes the file appear. Requires that all chunks were added. Returns the file's size in bytes.
  std::int64_t Commit();

 private:
  ShardHeader header_;
  std::size_t added_ = 0;
  std::int64_t end_ = 0;  // bytes written so far
  AtomicFile file_;
};

}  // namespace tandem
