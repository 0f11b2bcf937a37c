// The folder through which generators hand rows to a trainer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder_lock.h"
#include "data/stream_shard.h"

namespace tandem {

/// StreamFolder is the folder of a stream. It may be on a file system that several machines share:
/// all that it needs is that a rename and an exclusive creation are atomic.
///
///     rows-FIRST-ROWS-vVERSION-NAME.tandem   a shard that waits to be used
///     used/                                  shards that no checkpoint has counted as used yet
///     rejected/                              files that are damaged or belong to something else
///     generators/N                           start number N of a generator owns rows
///                                            [N, N + 1) * kRowsPerStart
///     .stream.lock                           empty; locked by the trainer that takes the shards
///
/// Generators only add shards and starts. Only the trainer moves or removes shards. Methods may be
/// called from any thread, and throw Error that names the path if the system refuses.
class StreamFolder {
 public:
  explicit StreamFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }

  /// Makes the folder and those inside it. Accepts folders that exist.
  void Create() const;

  /// Locks the folder, which must exist, for the trainer that takes its shards. Generators need no
  /// lock. Throws InputError if another trainer holds the lock.
  FolderLock Lock() const;

  /// Listing is what the folder holds.
  struct Listing {
    std::vector<StreamShardName> waiting;  ///< in the order in which training takes them
    std::vector<std::string> strays;       ///< other files that end with ".tandem"
  };
  Listing List() const;

  /// The names of the files in used/, sorted.
  std::vector<std::string> Used() const;

  /// The number of files in rejected/.
  std::int64_t NumRejected() const;

  /// Moves a waiting shard to used/.
  void MarkUsed(const StreamShardName& name) const;

  /// Makes the files of used/ wait again.
  void MarkUnused(const std::vector<std::string>& files) const;

  /// Removes shards that a checkpoint counts as used, and makes that durable. They are in used/, or
  /// wait again if a power failure has undone their move. Ignores those that do not exist.
  void RemoveUsed(const std::vector<std::string>& files) const;

  /// Moves a file, or a link, to rejected/, in place of an earlier one with the same name.
  void Reject(const std::string& file) const;

  /// Removes unfinished files that nobody has written to for ten minutes; a killed generator leaves
  /// one.
  void RemoveLeftovers() const;

  /// Claims a start for a generator: creates the first file of generators/ that does not exist,
  /// makes it durable, and returns its number. Throws InputError if all kMaxStarts are taken.
  std::int64_t ClaimStart(std::string_view generator) const;

 private:
  std::filesystem::path path_;
};

}  // namespace tandem
