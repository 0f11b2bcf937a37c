// The files through which generators in other processes and a trainer exchange rows and weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "config/config.h"
#include "data/data_buffer.h"
#include "data/shard_file.h"
#include "tandem/domain.h"

namespace tandem {

/// Each start of a generator owns this many global rows, so no two make the same row.
inline constexpr std::int64_t kRowsPerStart = std::int64_t{1} << 36;
inline constexpr std::int64_t kMaxStarts = std::int64_t{1} << 24;

/// Most rows of a shard of a stream.
inline constexpr std::int64_t kMaxStreamRows = std::int64_t{1} << 24;

/// The rows of a stream have this update number. No update of a run and no set of shards uses it,
/// so a run with the same seed that generates its own rows generates different ones.
inline constexpr std::int64_t kStreamUpdate = -2;

/// StreamShardName is what the name of a shard's file says.
struct StreamShardName {
  std::int64_t first_row = 0;  ///< global row; the start of its generator is first_row /
                               ///< kRowsPerStart
  std::int64_t rows = 0;
  std::int64_t version = 0;  ///< completed updates of the network that labelled the rows
  std::string generator;     ///< IsGeneratorName

  bool operator==(const StreamShardName&) const = default;
};

/// Whether `name` has 1 to 60 letters, digits, '.', '_' or '-'.
bool IsGeneratorName(std::string_view name);

/// "rows-0000000000000008192-4096-v12-alpha.tandem".
std::string FormatStreamShardName(const StreamShardName& name);

/// Returns nothing if the file's name is not one that FormatStreamShardName returns.
std::optional<StreamShardName> ParseStreamShardName(std::string_view file);

/// Whether training takes `a` before `b`: older weights first, and among the shards of one version,
/// each generator's first shard before any second one.
bool ComesBefore(const StreamShardName& a, const StreamShardName& b);

/// Writes the rows as the shard `name` in `folder`. The file appears complete or not at all. `kind`
/// says what all shards of the stream have in common; its sizes are ignored. Returns the size of
/// the file. Throws Error that names the file.
std::int64_t WriteStreamShard(const std::filesystem::path& folder, const ShardSetSpec& kind,
                              const StreamShardName& name, const DataBuffer& rows);

/// Reads the shard `name` in `folder`, and checks its header, its name, that it belongs to the
/// stream (`kind`), its hash, that each byte of an input is below `input_depth`, its labels and
/// their weights. Throws Error that names the file and what is wrong with it, and SystemError if
/// the system refuses to read it or there is too little memory, which says nothing about the shard.
DataBuffer ReadStreamShard(const std::filesystem::path& folder, const ShardSetSpec& kind,
                           const StreamShardName& name, int input_depth);

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

  /// Moves a waiting shard to used/.
  void MarkUsed(const StreamShardName& name) const;

  /// Makes the files of used/ wait again.
  void MarkUnused(const std::vector<std::string>& files) const;

  /// Removes shards that a checkpoint counts as used, and makes that durable. They are in used/, or
  /// wait again if a power failure has undone their move. Ignores those that do not exist.
  void RemoveUsed(const std::vector<std::string>& files) const;

  /// Moves a file, or a link, to rejected/, in place of an earlier one with the same name.
  void Reject(const std::string& file) const;

  /// Removes unfinished files, as a killed generator leaves one, that are ten minutes old.
  void RemoveLeftovers() const;

  /// Claims a start for a generator: creates the first file of generators/ that does not exist,
  /// makes it durable, and returns its number. Throws InputError if all kMaxStarts are taken.
  std::int64_t ClaimStart(std::string_view generator) const;

 private:
  std::filesystem::path path_;
};

/// StreamManifest says what the generators of a run need. A run writes it to
/// RUN/published/manifest.json each time it publishes weights.
struct StreamManifest {
  bool ended = false;          ///< the run has done all its updates, or its time is up
  std::string domain;          ///< DomainSpec::identity
  std::int64_t version = 0;    ///< completed updates of the published network
  std::string weights_sha256;  ///< of the published network
  std::string config;          ///< of the run, as YAML without `auto`

  bool operator==(const StreamManifest&) const = default;
};

std::string FormatManifest(const StreamManifest& manifest);

/// Parses a manifest; `text` is untrusted. Does not parse the config. Throws InputError that says
/// what is wrong, without the file's name.
StreamManifest ParseManifest(std::string_view text);

/// Returns nothing if nothing is published yet. Throws InputError that names a wrong file.
std::optional<StreamManifest> ReadManifest(const std::filesystem::path& run);

/// RUN/published, RUN/published/manifest.json and RUN/published/weights-N.safetensors, a checkpoint
/// without the state to resume from.
std::filesystem::path PublishedFolder(const std::filesystem::path& run);
std::filesystem::path ManifestOf(const std::filesystem::path& run);
std::filesystem::path PublishedWeights(const std::filesystem::path& run, std::int64_t version);

/// The folder of a run's shards: data.path, or RUN/stream if there is none.
std::filesystem::path StreamPathOf(const std::filesystem::path& run, const Config& config);

}  // namespace tandem
