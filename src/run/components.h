// Everything that works for a run, made from its config.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <memory>

#include "buffer/replay_buffer.h"
#include "generate/labeller.h"
#include "nn/torch_evaluator.h"
#include "pipeline/inference_queue.h"
#include "pipeline/pipeline.h"
#include "pipeline/replay_trainer.h"
#include "run/checkpoint.h"
#include "run/train_run.h"
#include "train/online_evaluator.h"
#include "train/shard_loader.h"
#include "train/torch_trainer.h"

namespace tandem {

/// In the order of construction: each uses only what is above it.
struct TrainRun::Components {
  /// `from`: the checkpoint of the run to go on with, or null. Throws as TrainRun's constructor.
  Components(const TrainConfig& config, std::shared_ptr<Device> device_used, const StopSignal& stop,
             const Checkpoint* from);

  /// Makes the batch size that of `update`, the next to do. Whatever works in the background is
  /// stopped first, and begins anew with rows of that update.
  void UseBatchSizeOf(std::int64_t update, const TrainConfig& config, const StopSignal& stop);

  /// Follows another plan from the next update on, in a run whose batch size stays the same.
  void UsePlan(const UpdatePlan& plan);

  /// All that is to be kept of them; the tensors are their own.
  RunState State(const RunCounters& counters) const;

  /// Rows that these parts' networks evaluated until now, validation left out.
  std::int64_t NumEvaluated() const;

  std::shared_ptr<Device> device;
  tbb::global_control tbb_limit;
  std::unique_ptr<const Domain> domain;
  Schema schema;
  NetworkSpec network;
  ResNetFC net;
  std::unique_ptr<FrozenNet> target;          // null where no generator asks a network
  std::unique_ptr<TorchEvaluator> evaluator;  // likewise
  std::unique_ptr<OnlineEvaluator> current;   // in sync_main alone, as the next two
  std::unique_ptr<InferenceQueue> queue;      // to `current`
  std::unique_ptr<Labeller> labeller;
  std::unique_ptr<Generator> generator;
  std::int64_t batch_size = 0;
  std::unique_ptr<ShardLoader> shards;  // null where no rows come from shards
  std::unique_ptr<DataLoader> live;     // null where all do
  std::unique_ptr<DataLoader> mixed;    // null where not both are there
  std::unique_ptr<TorchTrainer> trainer;
  std::unique_ptr<ReplayBuffer> replay;           // null without replay
  std::unique_ptr<ReplayTrainer> replay_trainer;  // likewise, and in sync_main
  std::unique_ptr<Validator> validator;           // null where none is asked for
  std::unique_ptr<Pipeline> pipeline;             // last: its thread uses what is above

 private:
  void MakeEvaluators(const TrainConfig& config);
  void MakeShards(const TrainConfig& config, const Checkpoint* from);
  void MakeLoaders(const TrainConfig& config);
  DataLoader& loader() const;
  void MakeReplay(const TrainConfig& config);
  std::unique_ptr<TorchTrainer> MakeTrainer(const TrainConfig& config);
  std::unique_ptr<Pipeline> MakePipeline(const TrainConfig& config, const StopSignal& stop,
                                         std::int64_t first_update,
                                         const TargetState& target_state);
};

}  // namespace tandem
