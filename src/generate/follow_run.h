// Generates rows for a run in another process, with the weights that the run publishes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/stop_signal.h"
#include "config/config.h"
#include "data/stream_folder.h"
#include "generate/generator.h"

namespace tandem {

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
