// Generates sets of shards, and rows for a run in another process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/shard_file.h"
#include "data/stream_folder.h"
#include "generate/generator.h"
#include "tandem/domain.h"

namespace tandem {

/// ShardingOptions says how a set is divided into files and chunks.
struct ShardingOptions {
  std::int64_t examples = 0;  ///< rows of the whole set
  std::int64_t chunk_rows = std::int64_t{1} << 18;
  std::int64_t chunks_per_shard = 4;
  Compression compression = Compression::kNone;
};

/// The set that `config` generates. Requires that no value on which the rows depend is `auto`. If
/// the target needs a network, `weights_sha256` is the hash of that network's weights, and
/// `instruction_set` names the CPU instructions that evaluate it ("AVX512"); the last bits of the
/// labels depend on them.
ShardSetSpec SpecOfSet(const Config& config, const DomainSpec& domain,
                       const ShardingOptions& options, const std::string& weights_sha256,
                       const std::string& instruction_set = "");

/// What all shards of a run's stream have in common: the puzzle, the columns, and the keys that are
/// KeyTraits::is_in_streams. The sizes are not set.
ShardSetSpec StreamKind(const Config& config, const DomainSpec& domain);

/// ProcessRank says which of several processes this one is. The process with rank r generates the
/// shards whose number is r modulo `world_size`.
struct ProcessRank {
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

/// GenerateProgress says how far a process has come with its shards.
struct GenerateProgress {
  std::int64_t rows_made = 0;
  std::int64_t rows_found = 0;  ///< rows of shards that existed already
  std::int64_t rows = 0;        ///< all rows of the process
  std::int64_t bytes = 0;       ///< bytes of the shards that were generated
};

/// Generates the missing shards of a process. Each chunk is one request for its global rows, so the
/// files are byte-identical no matter which process generates them and how often it is interrupted.
/// One chunk is filled while a background thread compresses and writes another.
///
/// `progress` is called on the calling thread: before the first chunk and after each. Throws
/// InputError if the folder holds shards of a different set (the message names both), or if the set
/// would exceed a limit of readers (FindExceededLimit). Throws Error if the disk has too little
/// free space, Stopped once `stop` is reached, and whatever generating and writing throw. An
/// unfinished shard leaves no file behind.
void GenerateShards(Generator& generator, const ShardSetSpec& set,
                    const std::filesystem::path& folder, ProcessRank process,
                    const StopSignal& stop,
                    const std::function<void(const GenerateProgress&)>& progress);

/// FollowProgress says what a generator has done so far.
struct FollowProgress {
  std::int64_t shards = 0;
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  std::int64_t version = 0;  ///< of the weights in use
  double generate_s = 0;     ///< making rows and writing shards
  double paused_s = 0;       ///< waiting because enough shards wait for the trainer
};

/// FollowEnd says why FollowRun returned.
enum class FollowEnd {
  kRunEnded,
  kConfigChanged,  ///< the run was resumed with another config; follow it with a new Generator
};

/// FollowOptions says which run FollowRun generates rows for, and with what.
struct FollowOptions {
  std::filesystem::path run;
  std::string name;      ///< IsGeneratorName
  StreamFolder folder;   ///< of the run's shards
  ShardSetSpec kind;     ///< StreamKind
  Config config;         ///< without `auto`
  Generator& generator;  ///< makes rows with `config` and the network that `load` loads
  /// Loads a checkpoint into the network, and returns the SHA-256 of its weights. Throws InputError
  /// if that fails.
  std::function<std::string(const std::filesystem::path&)> load;
  /// Receives the name of each shard that has appeared.
  std::function<void(const std::string& file, const FollowProgress&)> wrote;
};

/// Waits until the run has published something. Throws Stopped once `stop` is reached. Calls
/// `waits` once if it has to wait.
StreamManifest AwaitManifest(const std::filesystem::path& run, const StopSignal& stop,
                             const std::function<void()>& waits);

/// Writes shards until the run ends or its config changes. `manifest` is the one from which
/// `options.config` comes. Looks for newer weights before each shard, and pauses while
/// data.stream_shards shards wait. Each call owns rows that no other call on any machine makes, so
/// a killed generator loses only the shard that it was making. Adds to `progress`. Throws Stopped
/// once `stop` is reached, InputError if weights cannot be loaded, and what the generator throws.
FollowEnd FollowRun(const FollowOptions& options, StreamManifest manifest, const StopSignal& stop,
                    FollowProgress& progress);

}  // namespace tandem
