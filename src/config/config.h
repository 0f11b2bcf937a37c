// The settings of a run: a struct for each section of a config, and `Config`, which has all of
// them. Each default is defined here, next to its field, and nowhere else. field_table.cc
// gives each field its key, its range and its meaning; choices.h has the enums.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "config/choices.h"

namespace tandem {

/// Largest number of rows in a batch.
inline constexpr std::int64_t kMostBatchSize = 1 << 24;

/// Returns the number of bytes of a key in GiB.
inline std::int64_t BytesOfGib(double gib) { return std::llround(gib * 1024 * 1024 * 1024); }

/// A whole number, or nothing if the config says `auto`. Tandem then chooses one: a run before
/// update 0, and a search by its method.
using AutoInt = std::optional<std::int64_t>;

struct DomainConfig {
  std::string name = "cube3";
  std::string argument;  ///< of the puzzle's parameter; its key is DomainParameter::key
  bool pieces = false;   ///< with DomainParameter::has_pieces: the network reads pieces

  /// Returns the name that MakeDomain takes: "cube3", "npuzzle:4".
  std::string full_name() const {
    return (argument.empty() ? name : name + ":" + argument) + (pieces ? ":pieces" : "");
  }
};

struct PipelineConfig {
  Mode mode = Mode::kAsync;
  AutoInt policy_lag;
  std::optional<double> loss_thresh;
  std::int64_t refresh_every = 1;
};

/// RowSequence says what `rows` consecutive rows come from, and the key that decides how many.
struct RowSequence {
  const char* noun;
  const char* key;
  std::int64_t rows;
};

struct GenerateConfig {
  Target target = Target::kWalkLength;
  GameSearch game_search = GameSearch::kGumbel;
  std::int64_t simulations = 64;
  GenerateSearch search = GenerateSearch::kNone;
  std::int64_t search_iterations = 50;
  double search_epsilon = 0.1;
  double search_weight = 0.6;
  double temperature = 0;
  std::int64_t search_beam_width = 16;
  bool curriculum = false;
  Backup backup = Backup::kOneStep;
  bool hindsight = false;
  double ball_radius = 0;
  double anchor_share = 0;
  std::int64_t problem_rows = 500;
  double dead_end_share = 0.25;
  double dead_end_cost = 100;
  std::int64_t max_scramble = 26;
  AutoInt rows_per_walk;
  Program program = Program::kDomain;
  AutoInt workers;
  AutoInt chunk_rows;

  /// Number of consecutive rows that one walk fills, of targets that label walks.
  std::int64_t rows_of_walk() const {
    constexpr std::int64_t kLongestWhole = 50;  // rows_per_walk: auto takes all states up to here
    if (target == Target::kOwnSolutions) return max_scramble;
    return rows_per_walk.value_or(max_scramble <= kLongestWhole ? max_scramble : max_scramble / 10);
  }
  /// Number of rows that are generated together. Chunks of tensor programs are larger, because each
  /// operation on tensors takes time to start.
  std::int64_t rows_of_chunk() const {
    return chunk_rows.value_or(program == Program::kTensor ? 65'536 : 4096);
  }
  bool searches() const { return search != GenerateSearch::kNone; }
  /// Number of states that one step of a search expands.
  std::int64_t states_per_step() const {
    return search == GenerateSearch::kBeam ? search_beam_width : 1;
  }
  /// The sequence that consecutive rows come from.
  RowSequence sequence() const {
    const char* const longest = "generate.max_scramble";
    if (target == Target::kSelfPlay) return {"series of games", longest, max_scramble};
    if (LabelsWalks(target)) {
      const bool has_key = UsesRowsPerWalk(target) && rows_per_walk;
      return {"walk", has_key ? "generate.rows_per_walk" : longest, rows_of_walk()};
    }
    const std::int64_t rows = searches() ? search_iterations * states_per_step() : 1;
    return {"search", "generate.search_iterations", rows};
  }
};

struct DataConfig {
  DataSource source = DataSource::kLive;
  std::string path;
  double live_share = 0;
  std::int64_t max_lag = 10;
  std::int64_t stream_rows = 8192;
  std::int64_t stream_shards = 16;
};

struct ReplayConfig {
  std::int64_t updates = 0;
};

struct MemoryConfig {
  double ball_limit_gib = 1;

  /// The limit on a ball around the goal, in bytes.
  std::size_t ball_limit_bytes() const {
    return static_cast<std::size_t>(BytesOfGib(ball_limit_gib));
  }
};

struct NetworkConfig {
  std::string kind{kResNetFc};
  Head head = Head::kV;
  std::int64_t stem_width = 0;
  std::int64_t width = 256;
  std::int64_t blocks = 2;
  std::int64_t channels = 32;
  Norm norm = Norm::kLayer;
  Activation activation = Activation::kRelu;
  InputLayer input_layer = InputLayer::kHidden;
  std::string init_from;
};

struct OptimizerConfig {
  double learning_rate = 1e-3;
  Schedule schedule = Schedule::kConstant;
  double final_learning_rate = 2e-5;
  double decay = 0.9999993;
  std::int64_t warmup_iterations = 0;
  double max_grad_norm = 0;
  double weight_decay = 0.0;
  // The defaults of PyTorch and DeepXube, which have no keys.
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// The section `train`.
struct TrainingConfig {
  std::int64_t batch_size = 1000;
  std::int64_t iterations_per_update = 100;
  AutoInt max_updates = 100;
  std::string plan;            ///< UpdatePlan::text() if the run revised its plan, else empty
  bool follows_clock = false;  ///< has no key; max_updates was auto, so the run revises its plan
  double max_seconds = 0;
  double policy_weight = 1;
  std::int64_t accumulation_steps = 1;
  double watchdog_seconds = 0;
  double ema_decay = 0;
  AutoInt threads;
  Precision precision = Precision::kAuto;
  BackendKind backend = BackendKind::kAuto;  ///< has no key; that of training (WithBackends)
  bool may_capture = false;  ///< has no key; a GPU may repeat the step as a CUDA graph

  bool averages() const { return ema_decay > 0; }
};

struct PrefetchConfig {
  bool enabled = true;
  std::int64_t depth = 2;
  bool pin_memory = true;
  bool copy_stream = true;
};

struct InferenceConfig {
  AutoInt batch_size;
  AutoInt threads;
  Precision precision = Precision::kAuto;
  BackendKind backend = BackendKind::kAuto;  ///< has no key; that of inference (WithBackends)

  /// The number of states that are evaluated at once; the CPU's default while batch_size is `auto`.
  std::int64_t rows_at_once() const { return batch_size.value_or(kCpuRows); }

  static constexpr std::int64_t kCpuRows = 4096;    ///< `batch_size: auto` on a CPU
  static constexpr std::int64_t kGpuRows = 32'768;  ///< `batch_size: auto` on a GPU
};

struct SearchConfig {
  SearchMethod method = SearchMethod::kBeam;
  Program program = Program::kDomain;
  std::int64_t beam_width = 4096;
  std::int64_t max_length = 100;
  double weight = 0.6;
  double policy_weight = 0;
  std::int64_t policy_actions = 0;
  std::int64_t simulations = 64;
  std::int64_t batch = 1000;
  std::int64_t instances = 1;
  AutoInt max_nodes;
  double max_gib = 0;
  double max_seconds = 0;
  double ball_radius = 0;
  double at_most = 0;
  UseInverse inverse = UseInverse::kNo;

  static constexpr std::int64_t kAStarNodes = 10'000'000;  ///< `max_nodes: auto` with A*, Q*

  /// Returns the memory limit in bytes. 0: no limit.
  std::int64_t max_bytes() const { return BytesOfGib(max_gib); }
};

struct ValidationConfig {
  std::int64_t every_updates = 100;
  std::int64_t states = 200;
  std::int64_t beam_width = 0;
  std::string file;
};

struct CheckpointConfig {
  std::int64_t every_updates = 100;
  double every_seconds = 600;
  std::int64_t keep = 1;
  std::int64_t keep_every = 0;
};

struct ProfileConfig {
  bool timing_breakdown = false;
  std::int64_t trace_updates = 0;
  std::int64_t trace_from = 0;
};

/// Config holds every setting of a run. LoadConfig reads and checks one.
struct Config {
  DomainConfig domain;
  PipelineConfig pipeline;
  GenerateConfig generate;
  DataConfig data;
  ReplayConfig replay;
  NetworkConfig network;
  OptimizerConfig optimizer;
  TrainingConfig train;
  PrefetchConfig prefetch;
  InferenceConfig inference;
  SearchConfig search;
  ValidationConfig validation;
  CheckpointConfig checkpoint;
  MemoryConfig memory;
  ProfileConfig profile;
  BackendKind backend = BackendKind::kAuto;
  std::string device = "auto";
  std::int64_t seed = 1;

  /// Returns `seed` as Random takes it.
  std::uint64_t random_seed() const { return static_cast<std::uint64_t>(seed); }

  /// Returns the number of rows in a buffer, on which an update trains.
  std::int64_t rows_per_update() const { return train.batch_size * train.iterations_per_update; }

  /// Returns how many rows of a batch are generated during the run. The rest comes from shards or a
  /// stream.
  std::int64_t live_part_of(std::int64_t batch) const {
    if (data.source == DataSource::kLive) return batch;
    return std::llround(data.live_share * static_cast<double>(batch));
  }

  /// Whether generators in other processes make rows with the weights that the run publishes.
  bool streams() const { return data.source == DataSource::kStream; }

  /// Whether a target network labels rows of this run, in this process or in others. In sync_main
  /// the network being trained plays games.
  bool labels_with_network() const {
    if (LabelsWhenTraining(pipeline.mode) && generate.target == Target::kSelfPlay) return false;
    return NeedsNetwork(generate.target) && (streams() || live_rows() > 0);
  }

  /// Returns how many rows of an update's buffer are generated during the run.
  std::int64_t live_rows() const {
    return live_part_of(train.batch_size) * train.iterations_per_update;
  }
};

}  // namespace tandem
