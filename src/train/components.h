// Builds the objects of a training run from its config.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <memory>

#include "data/loader.h"
#include "data/replay_buffer.h"
#include "data/shard_loader.h"
#include "generate/bellman.h"
#include "nn/inference_net.h"
#include "train/checkpoint.h"
#include "train/inference_queue.h"
#include "train/modes.h"
#include "train/trainer.h"
#include "train/validation.h"

namespace tandem {

/// Returns the network of a run before its first update: random weights that depend on `seed`, or
/// those of `network.init_from`. Throws InputError if that checkpoint does not fit.
std::unique_ptr<Network> MakeInitialNet(const Config& config, const DomainSpec& domain);

/// `Components` holds the objects of a run, in the order of construction. Each member uses only
/// members above it.
struct Components {
  /// `progress` and `stop` must outlive this object. `from` is the checkpoint to resume from, or
  /// null. Throws the same errors as TrainRun's constructor.
  Components(Config config, std::shared_ptr<Device> device_used, ProgressListener& progress,
             const StopSignal& stop, const Checkpoint* from);

  /// Switches to the batch size of `update`, the next update to do. If the size changes, stops
  /// background work and starts it again with rows of that update.
  void UseBatchSizeOf(std::int64_t update);

  /// Follows `plan` from the next update on. The batch size of the run must be constant.
  void UsePlan(const UpdatePlan& plan);

  /// Returns the state to save. Its tensors share memory with the components.
  RunState State(const RunCounters& counters) const;

  /// Returns the number of rows that the networks have evaluated, without validation.
  std::int64_t NumEvaluated() const;

  const Config config;
  const StopSignal& stop;
  std::shared_ptr<Device> device;
  tbb::global_control tbb_limit;
  std::unique_ptr<const Domain> domain;
  NetworkSpec network;
  const std::unique_ptr<Network> net;
  std::unique_ptr<InferenceNet> target;  // null if no rows are labelled by a network
  std::unique_ptr<ShardLoader> shards;   // null if no rows come from shards
  DataLoader loader;
  TorchTrainer trainer;
  std::unique_ptr<OnlineEvaluator> online;  // this and the next two: only in sync_main
  std::unique_ptr<InferenceQueue> queue;    // requests for `online`
  std::unique_ptr<BellmanTargets> bellman;
  std::unique_ptr<Generator> generator;  // null if all rows come from shards
  std::unique_ptr<ReplayBuffer> replay;  // null without replay
  std::unique_ptr<Validator> validator;  // null without validation
  PipelineParts parts;                   // of the pipeline
  std::int64_t batch_size = 0;
  std::unique_ptr<Pipeline> pipeline;  // last, because its thread uses the members above

 private:
  bool generates() const { return config.live_rows_of(0) > 0; }
  std::unique_ptr<Network> MakeNet(const Checkpoint* from) const;
  std::unique_ptr<InferenceNet> MakeTarget() const;
  std::unique_ptr<ShardLoader> MakeShards(const Checkpoint* from) const;
  void MakeGenerator();
  void MakePipeline(std::int64_t first_update, const TargetState& target_state);
};

}  // namespace tandem
