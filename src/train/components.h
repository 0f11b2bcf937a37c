// Builds the objects of a training run from its config.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <memory>

#include "data/replay_buffer.h"
#include "data/shard_loader.h"
#include "generate/bellman.h"
#include "nn/inference_net.h"
#include "train/checkpoint.h"
#include "train/inference_queue.h"
#include "train/modes.h"
#include "train/train_run.h"
#include "train/trainer.h"

namespace tandem {

/// `Components` holds the objects of a run, in the order of construction. Each member uses only
/// members above it.
struct TrainRun::Components {
  /// `from` is the checkpoint to resume from, or null. Throws the same errors as TrainRun's
  /// constructor.
  Components(const Config& config, std::shared_ptr<Device> device_used, const StopSignal& stop,
             const Checkpoint* from);

  /// Switches to the batch size of `update`, the next update to do. If the size changes, stops
  /// background work and starts it again with rows of that update.
  void UseBatchSizeOf(std::int64_t update, const Config& config, const StopSignal& stop);

  /// Follows `plan` from the next update on. The batch size of the run must be constant.
  void UsePlan(const UpdatePlan& plan);

  /// Returns the state to save. Its tensors share memory with the components.
  RunState State(const RunCounters& counters) const;

  /// Returns the number of rows that the networks have evaluated, without validation.
  std::int64_t NumEvaluated() const;

  std::shared_ptr<Device> device;
  tbb::global_control tbb_limit;
  std::unique_ptr<const Domain> domain;
  Schema schema;
  NetworkSpec network;
  ResNetFC net;
  std::unique_ptr<FrozenNet> target;          // null if the target needs no network
  std::unique_ptr<TorchEvaluator> evaluator;  // of `target`; null if `target` is
  std::unique_ptr<OnlineEvaluator> current;   // this and the next two: only in sync_main
  std::unique_ptr<InferenceQueue> queue;      // requests for `current`
  std::unique_ptr<BellmanTargets> targets;
  std::unique_ptr<Generator> generator;
  std::int64_t batch_size = 0;
  std::unique_ptr<ShardLoader> shards;  // null if no rows come from shards
  std::unique_ptr<DataLoader> live;     // null if all rows come from shards
  std::unique_ptr<DataLoader> mixed;    // combines `live` and `shards`; null unless both exist
  std::unique_ptr<TorchTrainer> trainer;
  std::unique_ptr<ReplayBuffer> replay;           // null without replay
  std::unique_ptr<ReplayTrainer> replay_trainer;  // null without replay and in sync_main
  std::unique_ptr<Validator> validator;           // null without validation
  std::unique_ptr<Pipeline> pipeline;             // last, because its thread uses the members above

 private:
  void MakeEvaluators(const Config& config);
  void MakeShards(const Config& config, const Checkpoint* from);
  void MakeLoaders(const Config& config);
  DataLoader& loader() const;
  void MakeReplay(const Config& config);
  std::unique_ptr<TorchTrainer> MakeTrainer(const Config& config);
  std::unique_ptr<Pipeline> MakePipeline(const Config& config, const StopSignal& stop,
                                         std::int64_t first_update,
                                         const TargetState& target_state);
};

}  // namespace tandem
