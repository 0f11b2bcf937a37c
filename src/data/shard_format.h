// The format of shards: files of examples, each of several chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/chunk_codec.h"
#include "data/data_buffer.h"
#include "tandem/error.h"

namespace tandem {

/// DamagedShard is thrown if a shard's bytes are not the ones that were written. Its message names
/// the file, the chunk if only that is damaged, and what is wrong.
class DamagedShard : public Error {
 public:
  using Error::Error;
};

inline constexpr int kShardSchema = 2;

/// A chunk is read into memory as a whole. No reader allocates more for one.
inline constexpr std::int64_t kMaxChunkBytes = std::int64_t{1} << 32;

inline constexpr std::int64_t kMaxShards = 1'000'000;  ///< per set: file names have six digits

/// Most chunks of a set. Readers keep tables of all of them (EpochOrder).
inline constexpr std::int64_t kMaxChunks = std::int64_t{1} << 24;

/// More limits of a set. Within all limits no size computation overflows.
inline constexpr std::int64_t kMaxExamples = std::int64_t{1} << 50;
inline constexpr std::int64_t kMaxChunkRows = INT32_MAX;
inline constexpr std::int64_t kMaxShardChunks = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxShardBytes = std::int64_t{1} << 62;

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

enum class SetLimit : std::uint8_t { kShards, kChunks, kShardBytes, kChunkBytes };

/// ExceededLimit is a limit that follows from several numbers of a set, and that it exceeds.
struct ExceededLimit {
  SetLimit limit;
  std::string text;  ///< "1,000,001 shards, expected at most 1,000,000"
};

/// Returns the first limit that a set exceeds. Its own numbers must be within theirs.
std::optional<ExceededLimit> FindExceededLimit(const ShardSetSpec& set);

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

/// Reads and validates the header of a file. Throws DamagedShard that names the file, SystemError
/// if the system refuses to read it, or InputError if a newer version of Tandem wrote it.
ShardHeader ReadHeader(const std::filesystem::path& path);

}  // namespace tandem
