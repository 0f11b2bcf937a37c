// The shards of a stream: files of one chunk, each from one generator and one version of the
// network.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_buffer.h"
#include "data/shard_format.h"
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
/// their weights. Throws Error that names the file and what is wrong with it. Throws SystemError if
/// the system refuses to read the file or there is too little memory, which says nothing about the
/// shard.
DataBuffer ReadStreamShard(const std::filesystem::path& folder, const ShardSetSpec& kind,
                           const StreamShardName& name, int input_depth);

}  // namespace tandem
