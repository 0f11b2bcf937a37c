#include "data/shard_file.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/open_file.h"
#include "base/text.h"

namespace tandem {

ShardWriter::ShardWriter(const std::filesystem::path& path, const ShardSetSpec& set,
                         std::int64_t shard)
    : header_{.set = set, .shard = shard}, file_(path) {
  header_.chunks.resize(static_cast<std::size_t>(set.EndChunk(shard) - set.FirstChunk(shard)));
  file_.Write(FormatHeader(header_));
}

void ShardWriter::Add(const DataBuffer& rows) {
  std::string compressed;
  std::string_view stored = TextOf(rows.bytes());
  if (header_.set.compression == Compression::kZstd) {
    compressed = Compress(rows.bytes());
    stored = compressed;
  }
  header_.chunks[added_++] = {.offset = file_.size(),
                              .bytes = std::ssize(stored),
                              .hash = ChunkHash(std::as_bytes(std::span(stored)))};
  file_.Write(stored);
}

std::int64_t ShardWriter::Commit() {
  file_.Overwrite(0, FormatHeader(header_));
  file_.Commit();
  return file_.size();
}

std::string ChunkName(const std::filesystem::path& path, std::int64_t chunk) {
  return fmt::format("{}, chunk {}", path.string(), chunk);
}

void ReadChunk(const std::filesystem::path& path, const ShardHeader& header, std::int64_t chunk,
               std::span<std::byte> to) {
  const ShardSetSpec& set = header.set;
  const StoredChunk& stored = header.chunks.at(static_cast<std::size_t>(chunk));
  to = to.first(set.BytesOfChunk(set.FirstChunk(header.shard) + chunk));
  const bool compressed = set.compression == Compression::kZstd;
  try {
    std::string frame(compressed ? static_cast<std::size_t>(stored.bytes) : 0, '\0');
    const std::span<std::byte> raw = compressed ? std::as_writable_bytes(std::span(frame)) : to;
    const OpenFile file(path);
    file.WillNeed(stored.offset, stored.bytes);
    const std::string hash = ChunkHash(raw, [&](std::size_t done, std::span<std::byte> part) {
      file.Read(stored.offset + static_cast<std::int64_t>(done), part);
    });
    if (hash != stored.hash) throw Error("its hash does not match its contents; it is damaged");
    if (compressed) Decompress(frame, to);
  } catch (const SystemError& error) {  // says nothing about the shard
    throw SystemError(fmt::format("cannot read {}: {}", path.string(), error.what()));
  } catch (const Error& error) {
    throw DamagedShard(fmt::format("{}: {}", ChunkName(path, chunk), error.what()));
  }
}

}  // namespace tandem
