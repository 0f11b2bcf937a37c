// Reads and writes the checkpoints of a run, checkpoint.pt and best.pt. A checkpoint is a
// dictionary:
//
//     schema          kCheckpointSchema
//     domain          DomainSpec::identity: the puzzle and the input of the network
//     network         network.kind; resnet_fc if it is missing
//     activation      network.activation, which the weights do not show; relu if it is missing
//     updates         complete updates that the network was trained for
//     iterations      iterations that it was trained for, including those of an incomplete update
//     weights_sha256  SHA-256 of `model`
//     model           the state dict of the network, or of its moving average if train.ema_use
//                     says so
//     resume          only in checkpoint.pt: the RunState before the next update to do, and its
//                     `sha256`. An update that was cut short is done again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"
#include "data/shard_set.h"
#include "data/stream_reader.h"
#include "nn/tensor_file.h"
#include "pipeline/pipeline.h"
#include "train/run_counters.h"

namespace tandem {

/// The layout of checkpoint.pt.
inline constexpr std::int64_t kCheckpointSchema = 2;

/// RunState holds everything that a run needs between two updates to continue as if it had never
/// been interrupted.
struct RunState {
  Config config;  ///< no `auto` left; written as YAML with every key and absolute paths
  RunCounters counters;
  std::optional<ShardPosition> position;  ///< in the shards; nothing without shards
  std::optional<StreamPosition> stream;   ///< nothing without a stream
  PipelineState pipeline;
  StateDict model;
  StateDict optimizer;
  StateDict target_network;  ///< empty if the target needs no network
  StateDict average;         ///< moving average of the weights; empty without train.ema_decay
};

/// Writes a checkpoint atomically, and returns the SHA-256 of `model`, the network to solve with,
/// which `network` describes. Without `resume`, the checkpoint can be used for solving but a run
/// cannot be resumed from it. The tensors may be on any device.
std::string WriteCheckpoint(const std::filesystem::path& path, const std::string& domain,
                            const NetworkConfig& network, const RunCounters& counters,
                            const StateDict& model, const RunState* resume);

/// Checkpoint is a checkpoint read from disk. If an entry is missing or wrong, a method throws
/// InputError that names the file, the entry and what was expected.
class Checkpoint {
 public:
  /// Reads `path`. Throws InputError that names the file if it is not a checkpoint of this schema.
  explicit Checkpoint(const std::filesystem::path& path);

  const std::string& file() const { return file_; }
  std::int64_t iterations() const { return iterations_; }

  /// The SHA-256 of the network to solve with.
  std::string weights_sha256() const;

  /// Throws InputError that names both puzzles if the checkpoint was not trained on `domain`, a
  /// DomainSpec::identity.
  void CheckDomain(const std::string& domain) const;

  /// Copies the weights into `net`. Throws InputError if the checkpoint is for another puzzle than
  /// `domain`, for another network or for another activation, or if the weights are damaged.
  void LoadModel(Network& net, const std::string& domain) const;

  /// These return parts of the RunState. They throw InputError if the checkpoint has no RunState;
  /// best.pt has none.
  RunCounters Counters() const;
  std::string ConfigYaml() const;
  /// The config, with `overrides`. Also throws the InputError of ParseConfig.
  Config ReadConfig(const std::vector<Override>& overrides = {}) const;
  std::optional<ShardPosition> PositionInShards() const;
  std::optional<StreamPosition> PositionInStream() const;
  PipelineState Pipeline() const;

  /// Copies the state before the next update into these tensors. Throws InputError if the state
  /// does not match them in names, shapes or types, and DamagedFile if it is damaged.
  void LoadState(const StateDict& model, const StateDict& optimizer,
                 const StateDict& target_network, const StateDict& average = {}) const;

 private:
  std::string file_;
  TensorDict content_;
  std::int64_t iterations_ = 0;
};

}  // namespace tandem
