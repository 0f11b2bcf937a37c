// The file format of shards. A set of examples is a folder of files shard-000000.tandem,
// shard-000001.tandem and so on; each is a shard. A shard starts with a header:
//
//     tandem shard 2              kShardSchema
//     header 8192                 size of the header in bytes, a multiple of 4096, as ten digits
//     {"domain": "cube3", ...}    ShardHeader as JSON, padded with blanks up to the last line
//     32 hexadecimal digits       128-bit XXH3 hash of the header up to here
//
// The chunks follow without gaps. A chunk is the memory of a DataBuffer: one column after another,
// each aligned to 64 bytes, so that an uncompressed file can be memory-mapped and used directly.
// The header holds the offset, the size and the hash (ChunkHash) of each chunk as it is stored.
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

inline constexpr std::int64_t kMaxShards = 1'000'000;  ///< per set: file names have six digits

enum class Compression : std::uint8_t { kNone, kZstd };

/// "none" or "zstd".
std::string_view NameOf(Compression compression);

/// ShardSetSpec describes a set of shards; all its shards store the same description. Row r of the
/// set is row (r mod chunk_rows) of chunk r / chunk_rows, in shard r / rows_per_shard(). Only the
/// last chunk of the set may have fewer rows.
struct ShardSetSpec {
  std::string domain;  ///< DomainSpec::identity
  std::string target;  ///< generate.target of the config: "walk_length"
  Schema schema;       ///< ExampleSchema
  std::map<std::string, std::string>
      provenance;             ///< config keys and values that determine the rows
  std::int64_t examples = 0;  ///< rows of the whole set
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

  /// The uncompressed size of a chunk in bytes.
  std::size_t BytesOfChunk(std::int64_t chunk) const;

  /// A hash of all fields. Two sets with equal identities hold the same rows.
  std::string Identity() const;

  bool operator==(const ShardSetSpec&) const = default;
};

/// Describes the first difference, as in "seed is 1 there and 2 here". Requires there != here.
std::string DescribeDifference(const ShardSetSpec& there, const ShardSetSpec& here);

/// StoredChunk locates a chunk in a file.
struct StoredChunk {
  std::int64_t offset = 0;  ///< in the file, in bytes
  std::int64_t bytes = 0;   ///< size in the file
  std::string hash;         ///< ChunkHash of these bytes

  bool operator==(const StoredChunk&) const = default;
};

/// ShardHeader is the content of a shard's header.
struct ShardHeader {
  ShardSetSpec set;
  std::int64_t shard = 0;           ///< number of the shard in its set
  std::vector<StoredChunk> chunks;  ///< the shard's chunks, in order

  /// The size of the complete file.
  std::int64_t file_bytes() const { return chunks.back().offset + chunks.back().bytes; }
};

std::filesystem::path ShardPath(const std::filesystem::path& folder, std::int64_t shard);

/// Formats the header. The length does not depend on the offsets, sizes and hashes of the chunks.
/// So the header can be written before the chunks and overwritten once they are known.
std::string FormatHeader(const ShardHeader& header);

/// Parses and validates a header; `text` is untrusted. In the returned header all sizes are
/// positive and neither their products nor their sums overflow. The shard's number is valid for its
/// set. The chunks follow the header without gaps, and each has the size that its rows need or, if
/// compressed, can have. Throws Error that says what is wrong, without the file's name.
ShardHeader ParseHeader(std::string_view text);

/// Reads and validates the header of a file. Throws DamagedShard that names the file.
ShardHeader ReadHeader(const std::filesystem::path& path);

}  // namespace tandem
