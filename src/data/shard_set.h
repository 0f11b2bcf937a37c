// A folder of shards: reads and verifies its chunks, and orders them for training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/shard_file.h"
#include "tandem/domain.h"

namespace tandem {

/// The files in `folder` that are named like shards but are not among shards 0 to num_shards - 1,
/// sorted by name. Throws InputError if the folder cannot be read.
std::vector<std::filesystem::path> StrayFiles(const std::filesystem::path& folder,
                                              std::int64_t num_shards);

/// Logs a warning for each of StrayFiles.
void WarnOfStrays(const std::filesystem::path& folder, std::int64_t num_shards);

/// "FILE is not one of the set's 8 shards (000000 to 000007) and is ignored".
std::string DescribeStray(const std::filesystem::path& file, std::int64_t num_shards);

/// Returns the set's description from the first shard with an intact header. Throws InputError that
/// names the folder if there is none. Does not check that the other shards belong to the same set.
ShardSetSpec ReadShardSetSpec(const std::filesystem::path& folder);

/// Throws InputError that names the file and the difference if a shard in `folder` with an intact
/// header belongs to another set than `set`.
void RequireNoOtherSet(const std::filesystem::path& folder, const ShardSetSpec& set);

/// ShardSet reads and verifies the chunks of a set. Chunks are numbered from 0 over the whole set.
/// Immutable: methods may be called from any thread, also at the same time.
class ShardSet {
 public:
  /// One file of the set, with either a header or a problem.
  struct Shard {
    std::filesystem::path path;
    std::int64_t number = 0;
    std::optional<ShardHeader> header;
    bool missing = false;  ///< the file does not exist
    std::string problem;   ///< why there is no header, with the file's name; "" if there is one
  };

  /// Reads the headers of the set's files. Throws InputError if the folder holds no shard with an
  /// intact header, or shards of different sets. The message then names the folder, or one shard of
  /// each set and how the sets differ.
  explicit ShardSet(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  const ShardSetSpec& spec() const { return spec_; }
  /// All shards of the set, also those that are missing or damaged.
  const std::vector<Shard>& shards() const { return shards_; }

  /// Throws InputError that names both sides if the examples are for another puzzle or another
  /// head. Examples with and without weights both fit.
  void CheckFits(const DomainSpec& domain, Head head) const;

  /// Throws DamagedShard for the first shard without a header (Shard::problem).
  void CheckComplete() const;

  /// Reads a chunk into the first spec().BytesOfChunk(chunk) bytes of `to` and verifies its hash.
  /// Throws as ReadChunk does (shard_file.h).
  void Read(std::int64_t chunk, std::span<std::byte> to) const;

  /// The file of a chunk and its number there, for messages (ChunkName).
  std::string NameOfChunk(std::int64_t chunk) const;

  /// The size of a chunk in its file, in bytes; 0 if its shard has no header.
  std::int64_t StoredBytes(std::int64_t chunk) const;

 private:
  const Shard& ShardOf(std::int64_t chunk) const;

  const std::filesystem::path folder_;
  ShardSetSpec spec_;
  std::vector<Shard> shards_;
};

/// ShardPosition says how far training has read a set, so that it can resume from there.
struct ShardPosition {
  std::string set;        ///< ShardSetSpec::Identity of the set
  std::int64_t rows = 0;  ///< rows of the endless sequence (EpochOrder)
};

/// EpochPosition is the position of a row in an endless sequence of epochs.
struct EpochPosition {
  std::int64_t step = 0;
  std::int64_t row = 0;  ///< position in the shuffled order of the chunk's rows
};

/// EpochOrder gives the order of an endless sequence of epochs. Each epoch reads every chunk once,
/// in its own random order; step s reads one chunk of epoch s / num_chunks. The rows of a chunk are
/// shuffled too (ShuffleRows). The order is a function of the set and the seed. Not thread-safe.
class EpochOrder {
 public:
  EpochOrder(const ShardSetSpec& set, std::uint64_t seed);

  std::int64_t EpochOf(std::int64_t step) const { return step / num_chunks_; }
  std::int64_t ChunkOf(std::int64_t step);

  /// Finds row `row` of the endless sequence, counted from 0.
  EpochPosition Find(std::int64_t row);

 private:
  const ShardSetSpec set_;
  const std::uint64_t seed_;
  const std::int64_t num_chunks_;
  std::int64_t epoch_ = -1;           // the epoch that chunks_ belongs to
  std::vector<std::int64_t> chunks_;  // the chunks in that epoch's order
};

/// Writes the indices of a chunk's rows in the order in which an epoch reads them.
void ShuffleRows(std::span<std::int32_t> rows, std::uint64_t seed, std::int64_t epoch,
                 std::int64_t chunk);

}  // namespace tandem
