// checkpoint.pt and best.pt: what a run keeps of itself.
//
//     schema          kCheckpointSchema
//     domain          DomainSpec::identity: the puzzle, with what the network reads of it
//     updates         whole updates that the network has had
//     iterations      and iterations, with those of an update that was cut short
//     weights_sha256  of `model`
//     model           the network's state dict
//     resume          in checkpoint.pt alone: the RunState before the next update to do, which for
//                     an update that was cut short is that update; and `sha256`, of all of it.
//                     Its `config` is the run's whole config as YAML
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "nn/tensor_file.h"
#include "pipeline/target_network_schedule.h"
#include "run/validation.h"
#include "train/shard_loader.h"

namespace tandem {

/// The layout of checkpoint.pt.
inline constexpr std::int64_t kCheckpointSchema = 2;

/// What a run has done so far.
struct RunCounters {
  std::int64_t updates = 0;     ///< that were finished
  std::int64_t iterations = 0;  ///< with those of an update that was not
  std::int64_t examples = 0;
  double wall_s = 0;
  double generate_s = 0;
  double train_s = 0;
  double wait_for_rows_s = 0;
  double validate_s = 0;
  double final_loss = 0;       ///< of the last update
  bool follows_clock = false;  ///< train.max_updates was auto, so the run revises its plan

  std::optional<ValidationResult> at_start;    ///< before the first update
  std::optional<ValidationResult> validation;  ///< the last one
  std::optional<ValidationResult> best;
  std::int64_t validated_iterations = 0;  ///< iterations when that was
  std::int64_t best_update = 0;           ///< updates that the network of best.pt has had
};

/// All that a run needs between two updates to go on as if it had never been away.
struct RunState {
  std::string config;  ///< YAML with every key, no `auto` left
  RunCounters counters;
  std::optional<ShardPosition> position;  ///< in the shards, if it reads any
  TargetState target;
  StateDict model;
  StateDict optimizer;
  StateDict target_network;  ///< empty where no generator asks a network
};

/// Writes a checkpoint whole or not at all. `model` is the network now; without `resume`, the
/// checkpoint can be used but not gone on with.
void WriteCheckpoint(const std::filesystem::path& path, const std::string& domain,
                     const RunCounters& counters, const StateDict& model,
                     const std::string& weights_sha256, const RunState* resume);

/// A checkpoint that was read. All methods throw InputError that names the file, the entry and what
/// was expected, where it holds something else.
class Checkpoint {
 public:
  /// Throws InputError that names the file if it is no checkpoint of this schema.
  explicit Checkpoint(const std::filesystem::path& path);

  std::int64_t iterations() const { return iterations_; }

  /// Throws InputError that names both puzzles if it is not of `domain`, a DomainSpec::identity.
  void CheckDomain(const std::string& domain) const;

  /// Copies the weights into `net`. Throws InputError if they are of another puzzle than `domain`
  /// or of another network, or damaged.
  void LoadModel(ResNetFC& net, const std::string& domain) const;

  /// Throws InputError if this is no checkpoint to go on from.
  RunCounters Counters() const;
  std::string Config() const;  ///< as in RunState
  std::optional<ShardPosition> Position() const;
  TargetState Target() const;

  /// Copies the state before the next update into these tensors. Throws InputError if it is of
  /// another run than they are, or not what the run wrote.
  void LoadState(const StateDict& model, const StateDict& optimizer,
                 const StateDict& target_network) const;

 private:
  std::string file_;
  TensorDict content_;
  std::int64_t iterations_ = 0;
};

}  // namespace tandem
