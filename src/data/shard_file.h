// Shards: files of examples, each of several chunks that are compressed and hashed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "tandem/error.h"

namespace tandem {

/// Compression says how the chunks of a set are compressed.
enum class Compression : std::uint8_t { kNone, kZstd };

/// "none" or "zstd".
std::string_view NameOf(Compression compression);

/// The compression of this name, or nothing.
std::optional<Compression> ParseCompression(std::string_view name);

/// Compresses `bytes` into one Zstandard frame.
std::string Compress(std::span<const std::byte> bytes);

/// The largest possible size of the frame that Compress makes of `bytes` bytes.
std::size_t MaxCompressedBytes(std::size_t bytes);

/// Decompresses `frame` into `to`. Throws Error unless the frame holds exactly to.size() bytes.
void Decompress(std::string_view frame, std::span<std::byte> to);

/// A chunk is hashed in parts of this many bytes, so that several threads can read and hash it. A
/// part is small enough to stay in the processor's cache between reading and hashing.
inline constexpr std::size_t kHashedBytes = 256 << 10;

/// The hash of a chunk, as hexadecimal digits: the hash of the hashes of its parts.
std::string ChunkHash(std::span<const std::byte> bytes);

/// Reads a chunk into `bytes` and returns its ChunkHash. Calls `read` once for each part, with the
/// part's offset and its memory, on any TBB thread and in any order. Throws whatever `read` throws.
std::string ChunkHash(std::span<std::byte> bytes,
                      const std::function<void(std::size_t, std::span<std::byte>)>& read);

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

/// Formats the header, in a length that does not depend on the offsets, sizes and hashes of the
/// chunks: it is written before the chunks and overwritten once they are known.
std::string FormatHeader(const ShardHeader& header);

/// Parses and validates a header; `text` is untrusted. In the returned header all sizes are
/// positive and neither their products nor their sums overflow, and the shard's number is valid.
/// The chunks follow the header without gaps, each of a size that is possible for its rows. Throws
/// Error that says what is wrong, without the file's name.
ShardHeader ParseHeader(std::string_view text);

/// Reads and validates the header of a file. Throws DamagedShard that names the file, SystemError
/// if the system refuses to read it, or InputError if a newer version of Tandem wrote it.
ShardHeader ReadHeader(const std::filesystem::path& path);

/// ShardWriter writes one shard, chunk by chunk. The file appears only at Commit, complete. All
/// methods throw Error that names the file if writing fails.
class ShardWriter {
 public:
  /// Writes shard `shard` of `set` to `path`.
  ShardWriter(const std::filesystem::path& path, const ShardSetSpec& set, std::int64_t shard);

  /// Appends the next chunk, with exactly its rows and the set's schema.
  void Add(const DataBuffer& rows);

  /// Makes the file appear. Requires that all chunks were added. Returns the file's size in bytes.
  std::int64_t Commit();

 private:
  ShardHeader header_;
  std::size_t added_ = 0;
  AtomicFile file_;
};

/// Names a chunk in messages: "PATH, chunk 2". `chunk` counts from 0, the file's first one.
std::string ChunkName(const std::filesystem::path& path, std::int64_t chunk);

/// Reads a chunk of the shard at `path`, whose header is `header`, into the first bytes of `to` and
/// verifies its hash. `chunk` counts from the shard's first one. Throws DamagedShard if the chunk
/// is damaged or missing, and SystemError if the system refuses to read it, whether damaged or not.
void ReadChunk(const std::filesystem::path& path, const ShardHeader& header, std::int64_t chunk,
               std::span<std::byte> to);

}  // namespace tandem
