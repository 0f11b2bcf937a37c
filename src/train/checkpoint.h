// Reads and writes the checkpoints of a run, checkpoint.safetensors and best.safetensors. The
// tensors of the network have the names of its state dict, so that a file is also a state dict for
// PyTorch. It is the network of the run, or with train.ema_decay its moving average. The
// metadata `weights_sha256` is the SHA-256 of these tensors. The metadata `tandem` is JSON:
//
//     schema      kCheckpointSchema
//     domain      DomainSpec::identity: the puzzle and the input of the network
//     network     kind and activation, which the tensors do not show
//     updates     complete updates that the network was trained for
//     iterations  iterations that it was trained for, including those of an incomplete update
//     resume      only in checkpoint.safetensors: the RunState before the next update to do. An
//                 update that was cut short is done again.
//
// The tensors of the RunState are resume.model.NAME, resume.optimizer.NAME,
// resume.target_network.NAME and resume.average.NAME. If one of these parts is the network of the
// file, its tensors are not stored again, and `resume.stored_as_network` names it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"
#include "data/shard_set.h"
#include "data/stream_reader.h"
#include "nn/network.h"
#include "nn/tensor_file.h"
#include "pipeline/pipeline.h"
#include "tandem/domain.h"
#include "train/run_counters.h"

namespace tandem {

/// The layout of a checkpoint.
inline constexpr std::int64_t kCheckpointSchema = 3;

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
  /// best.safetensors has none.
  RunCounters Counters() const;
  std::string ConfigYaml() const;
  /// The config, with `overrides`. Also throws the InputError of ParseConfig.
  Config ReadConfig(const std::vector<Override>& overrides = {}) const;
  /// The state without its config and its tensors, which ReadConfig and LoadState return.
  RunState State() const;

  /// Copies the state before the next update into these tensors. Throws InputError if the state
  /// does not match them in names, shapes or types, and DamagedFile if it is damaged.
  void LoadState(const StateDict& model, const StateDict& optimizer,
                 const StateDict& target_network, const StateDict& average = {}) const;

 private:
  const nlohmann::json& Resume() const;
  TensorMap Part(const std::string& prefix) const;

  std::string file_;
  TensorFile content_;
  nlohmann::json json_;
  std::int64_t iterations_ = 0;
};

/// Returns a network with random weights that depend on `seed`, or with the weights of
/// `network.init_from`. Throws InputError if that checkpoint does not fit; it names the keys of the
/// network that differ, if they are known.
std::unique_ptr<Network> MakeInitialNet(const Config& config, const DomainSpec& domain);

}  // namespace tandem
