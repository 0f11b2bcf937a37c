#include "shards/shard_writer.h"

#include <algorithm>

#include "shards/chunk_codec.h"
#include "shards/chunk_hash.h"

namespace tandem {
namespace {

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ShardWriter::ShardWriter(const std::filesystem::path& folder, const ShardSetSpec& set,
                         std::int64_t shard)
    : header_{.set = set, .shard = shard}, file_(ShardPath(folder, shard)) {
  header_.chunks.resize(static_cast<std::size_t>(set.EndChunk(shard) - set.FirstChunk(shard)));
  const std::string text = FormatHeader(header_);
  file_.Write(text);
  end_ = std::ssize(text);
}

void ShardWriter::Add(const DataBuffer& rows) {
  std::string compressed;
  std::string_view stored = TextOf(rows.bytes());
  if (header_.set.compression == Compression::kZstd) {
    compressed = Compress(rows.bytes());
    stored = compressed;
  }
  header_.chunks[added_++] = {.offset = end_,
                              .bytes = std::ssize(stored),
                              .hash = ChunkHash(std::as_bytes(std::span(stored)))};
  file_.Write(stored);
  end_ += std::ssize(stored);
}

std::int64_t ShardWriter::Commit() {
  file_.Overwrite(0, FormatHeader(header_));
  file_.Commit();
  return end_;
}

}  // namespace tandem
