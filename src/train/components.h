// Builds the objects of a training run from its config.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "config/update_plan.h"
#include "data/replay_buffer.h"
#include "generate/bellman.h"
#include "loaders/loader.h"
#include "loaders/shard_loader.h"
#include "loaders/stream_loader.h"
#include "nn/inference_net.h"
#include "pipeline/generator_thread.h"
#include "pipeline/pipeline.h"
#include "ranks/gradient_reducer.h"
#include "ranks/ranks.h"
#include "train/checkpoint.h"
#include "train/run_stop.h"
#include "train/stream_publisher.h"
#include "train/trainer.h"
#include "train/validation.h"

namespace tandem {

/// Components holds the objects of a run in the order of construction. Each member uses only
/// members above it.
struct Components {
  /// Builds the objects of `run`, which continues from the checkpoint `from` unless that is null.
  /// `among` is null if this process trains alone; only rank 0 validates. `ends` ends the work and
  /// the waits of the components. `folder` is that of the run, for a stream; "" if the run writes
  /// no files. All but `from` must outlive this object. Throws the same errors as TrainRun's
  /// constructor.
  Components(Config run, std::shared_ptr<Device> on, Ranks* among, RunStop& ends,
             const TrainingHooks& hooks, const std::filesystem::path& folder,
             const Checkpoint* from);

  /// Follows `plan`, a new plan of the run, from the next update on.
  void UsePlan(const UpdatePlan& plan);

  /// Tells the generators of a stream, if there is one, that the run has ended.
  void EndStream() const;

  /// Returns the state to save. Its tensors share memory with the components.
  RunState State(const RunCounters& counters) const;

  const Config config;
  const std::shared_ptr<Device> device;
  Ranks* const ranks;
  RunStop& stop;
  const RunState start;  // without tensors
  tbb::global_control tbb_limit;
  std::unique_ptr<const Domain> domain;
  NetworkSpec network;
  const std::unique_ptr<Network> net;
  std::unique_ptr<InferenceNet> target;  // null if no rows are labelled by a network
  std::unique_ptr<ShardLoader> shards;   // null if no rows come from shards
  std::unique_ptr<StreamLoader> stream;  // null if no rows come from a stream
  DataLoader loader;
  std::optional<GradientReducer> reducer;  // empty if this process trains alone
  TorchTrainer trainer;
  std::unique_ptr<StreamPublisher> publisher;  // null without a stream
  std::unique_ptr<OnlineEvaluator> online;     // this and the next two: only in sync_main
  std::unique_ptr<InferenceQueue> queue;       // requests for `online`
  std::unique_ptr<StoredStateLabeller> labeller;
  std::unique_ptr<Generator> generator;  // null if no rows are generated
  std::unique_ptr<ReplayBuffer> replay;  // null without replay
  std::unique_ptr<Validator> validator;  // null without validation
  std::unique_ptr<Pipeline> pipeline;    // last, because its thread uses the others

 private:
  bool generates() const { return config.live_rows() > 0; }
  std::int64_t rank() const { return ranks != nullptr ? ranks->rank() : 0; }
  std::unique_ptr<Network> MakeNet(const Checkpoint* from) const;
  std::unique_ptr<InferenceNet> MakeTarget() const;
  std::unique_ptr<ShardLoader> MakeShards() const;
  std::unique_ptr<StreamLoader> MakeStream(const std::filesystem::path& folder) const;
  StoredExamples* stored() const;
  void MakeGenerator();
};

}  // namespace tandem
