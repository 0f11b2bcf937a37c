// A shard: a file with some of a set of examples. Sets are folders of files shard-000000.tandem and
// so on.
//
//     tandem shard 2              kShardSchema
//     header 8192                 bytes of the header, a multiple of 4096: ten digits
//     {"domain": "cube3", ...}    the rest as JSON, and blanks up to the last line
//     32 hexadecimal digits       XXH3's 128-bit hash of the header before them
//
// Then the chunks, end to end. A chunk is the memory of a DataBuffer: column after column, each
// from a multiple of 64 bytes on, so that a map of an uncompressed file can be used as it lies. The
// header holds the offset, the bytes and the hash (ChunkHash) of each chunk as it is stored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buffer/data_buffer.h"

namespace tandem {

inline constexpr int kShardSchema = 2;

inline constexpr std::int64_t kMaxShards = 1'000'000;  ///< of a set: names have six digits

enum class Compression : std::uint8_t { kNone, kZstd };

/// "none" or "zstd".
std::string_view NameOf(Compression compression);

/// What all shards of a set have in common. Row r of the set is row r mod chunk_rows of chunk r /
/// chunk_rows, which is in shard r / rows_per_shard(); only the last chunk may have fewer rows.
struct ShardSetSpec {
  std::string domain;                          ///< DomainSpec::identity
  std::string target;                          ///< as in a config: "walk_length"
  Schema schema;                               ///< ExampleSchema
  std::map<std::string, std::string> made_by;  ///< by key: all that the rows are a function of
  std::int64_t examples = 0;                   ///< rows of the whole set
  std::int64_t chunk_rows = 1;
  std::int64_t chunks_per_shard = 1;
  Compression compression = Compression::kNone;

  std::int64_t rows_per_shard() const { return chunk_rows * chunks_per_shard; }
  std::int64_t num_chunks() const { return (examples + chunk_rows - 1) / chunk_rows; }
  std::int64_t num_shards() const {
    return (num_chunks() + chunks_per_shard - 1) / chunks_per_shard;
  }
  std::int64_t RowsOfChunk(std::int64_t chunk) const;

  /// The chunks of a shard: [first, end).
  std::int64_t FirstChunk(std::int64_t shard) const { return shard * chunks_per_shard; }
  std::int64_t EndChunk(std::int64_t shard) const;

  /// The memory of a chunk that is not compressed.
  std::size_t BytesOfChunk(std::int64_t chunk) const;

  /// Tells sets apart: the hash of all of this.
  std::string Identity() const;

  bool operator==(const ShardSetSpec&) const = default;
};

/// Says in which two values `a` and `b` differ: "seed is 1 there and 2 here". Requires a != b.
std::string DescribeDifference(const ShardSetSpec& there, const ShardSetSpec& here);

/// A chunk as it is stored.
struct StoredChunk {
  std::int64_t offset = 0;  ///< in the file
  std::int64_t bytes = 0;
  std::string hash;

  bool operator==(const StoredChunk&) const = default;
};

struct ShardHeader {
  ShardSetSpec set;
  std::int64_t shard = 0;           ///< its number
  std::vector<StoredChunk> chunks;  ///< in order

  /// Bytes of a whole file.
  std::int64_t file_bytes() const { return chunks.back().offset + chunks.back().bytes; }
};

std::filesystem::path ShardPath(const std::filesystem::path& folder, std::int64_t shard);

/// The header as text, of the same length whatever is stored: so that it can be written before the
/// chunks are, with empty ones, and written over afterwards.
std::string FormatHeader(const ShardHeader& header);

/// Whatever `text` holds, the header is one that could have been written: the sizes of its set are
/// positive and neither their products nor sums overflow, its shard is one of the set's, and its
/// chunks lie end to end behind it, each with as many bytes as its rows take, or where they are
/// compressed may take. Throws Error that says what is wrong, without the file's name.
ShardHeader ParseHeader(std::string_view text);

/// The header of a file. Throws DamagedShard that names it.
ShardHeader ReadHeader(const std::filesystem::path& path);

}  // namespace tandem
