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
#include "train/online_evaluator.h"
#include "train/run_saver.h"
#include "train/stream_publisher.h"
#include "train/trainer.h"
#include "train/validation.h"

namespace tandem {

/// RankLinks connects the components of a run to the other ranks that train the same network.
struct RankLinks {
  Ranks& ranks;
  AgreedStop& stop;
};

/// RunContext is what the components of a run need in addition to its config.
struct RunContext {
  std::shared_ptr<Device> device;
  TrainingHooks hooks;
  const StopSignal& stop;          ///< must outlive the components
  Interrupter& interrupter;        ///< ends their waits, and must outlive them
  std::optional<RankLinks> links;  ///< empty if this process trains alone; only rank 0 validates
  std::filesystem::path folder;    ///< of the run, for a stream; "" if the run writes no files
};

/// StartPoint says where a run begins.
struct StartPoint {
  std::int64_t update = 0;               ///< the next one to do
  std::optional<ShardPosition> shards;   ///< nothing: their beginning, or no rows from shards
  std::optional<StreamPosition> stream;  ///< nothing: a new stream, or none
  PipelineState pipeline;
};

/// Components holds the objects of a run in the order of construction. Each member uses only
/// members above it.
struct Components {
  /// Builds the objects of `run`, which continues from the checkpoint `from` unless that is null.
  /// Throws the same errors as TrainRun's constructor.
  Components(Config run, RunContext shared, const Checkpoint* from);

  /// Follows `plan`, a new plan of the run, from the next update on.
  void UsePlan(const UpdatePlan& plan);

  /// Lets `saver`, which must outlive this object, save replay rows and positions in a stream.
  void AttachTo(RunSaver& saver);

  /// Returns the state to save. Its tensors share memory with the components.
  RunState State(const RunCounters& counters) const;

  const Config config;
  const RunContext context;
  const StartPoint start;
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
  std::unique_ptr<Generator> generator;            // null if no rows are generated
  std::unique_ptr<ReplayBuffer> replay;            // null without replay
  std::unique_ptr<Validator> validator;            // null without validation
  std::unique_ptr<Pipeline> pipeline;              // its thread uses the members above
  std::optional<RunSaver::Attachment> attachment;  // last, because the saver's thread uses them too

 private:
  bool generates() const { return config.live_rows() > 0; }
  std::int64_t rank() const { return context.links ? context.links->ranks.rank() : 0; }
  std::unique_ptr<Network> MakeNet(const Checkpoint* from) const;
  std::unique_ptr<InferenceNet> MakeTarget() const;
  std::unique_ptr<ShardLoader> MakeShards() const;
  std::unique_ptr<StreamLoader> MakeStream() const;
  StoredExamples* stored() const;
  void MakeGenerator();
  void MakePipeline();
};

}  // namespace tandem
