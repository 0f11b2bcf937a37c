// A folder of shards, to read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shards/damage.h"
#include "shards/shard_header.h"
#include "tandem/domain.h"

namespace tandem {

/// What else lies in the folder under a shard's name though no set of `num_shards` has such a file,
/// by name. Throws InputError if the folder cannot be read.
std::vector<std::filesystem::path> StrayFiles(const std::filesystem::path& folder,
                                              std::int64_t num_shards);

/// Warns of each.
void WarnOfStrays(const std::filesystem::path& folder, std::int64_t num_shards);

/// "... is none of the set's shards, 000000 to 000007: nothing reads it".
std::string DescribeStray(const std::filesystem::path& file, std::int64_t num_shards);

/// What the first header that is whole says of the set. Throws InputError that names the folder if
/// there is none. Whether the other shards are of that set is not looked at.
ShardSetSpec ReadShardSetSpec(const std::filesystem::path& folder);

/// Reads chunks, which count from 0 over the whole set, and finds out whether they are what was
/// written. Immutable: methods may be called from any thread.
class ShardSet {
 public:
  /// One of the set's files: its header, or else why there is none to go by.
  struct Shard {
    std::filesystem::path path;
    std::int64_t number = 0;
    std::optional<ShardHeader> header;
    bool missing = false;  ///< there is no such file
    std::string problem;   ///< "" if there is a header; else names the file
  };

  /// Reads the headers of the set's files. Throws InputError that names the folder if it holds no
  /// shard whose header is whole, or shards of different sets: then both, and in what they differ.
  explicit ShardSet(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  const ShardSetSpec& spec() const { return spec_; }
  const std::vector<Shard>& shards() const { return shards_; }  ///< all that the set should have

  /// Throws InputError that names both sides if the examples are not of that puzzle and schema.
  void CheckFits(const DomainSpec& domain, const Schema& schema) const;

  /// Throws DamagedShard for the first shard that is missing, has no header or another's.
  void CheckComplete() const;

  /// Reads a chunk into the first spec().BytesOfChunk(chunk) bytes of `to`. Throws DamagedShard,
  /// or Error if the system would not have it read, which is no damage.
  void Read(std::int64_t chunk, std::span<std::byte> to) const;

  /// The same through a map of the file, for which the set must not be compressed.
  void ReadMapped(std::int64_t chunk, std::span<std::byte> to) const;

  /// As it is stored; 0 if its shard has no header.
  std::int64_t StoredBytes(std::int64_t chunk) const;

 private:
  const Shard& ShardOf(std::int64_t chunk) const;
  const StoredChunk& Stored(std::int64_t chunk) const;
  [[noreturn]] void Fail(std::int64_t chunk, std::string_view why) const;

  const std::filesystem::path folder_;
  ShardSetSpec spec_;
  std::vector<Shard> shards_;
};

}  // namespace tandem
