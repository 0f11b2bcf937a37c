#include "train/memory_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/fields.h"
#include "config/training_phases.h"
#include "data/examples.h"
#include "data/replay_buffer.h"
#include "generate/generation_memory.h"
#include "generate/spec_of_set.h"
#include "loaders/loader.h"
#include "loaders/shard_loader.h"
#include "loaders/stream_loader.h"
#include "nn/inference_net.h"
#include "nn/network.h"
#include "search/beam_memory.h"
#include "search/expander.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

class Planner {
 public:
  explicit Planner(const Config& config)
      : config_(config),
        domain_(MakeDomain(config.domain.full_name())),
        spec_(domain_->spec()),
        schema_(ExampleSchema(spec_, config)),
        sync_main_(LabelsWhenTraining(config.pipeline.mode)),
        last_(*config.train.max_updates - 1),
        rows_(config.live_rows_of(last_)) {}

  MemoryPlan Plan() {
    PlanBuffers();
    plan_.generation = GenerationBytes(config_, spec_, rows_);
    PlanBatches();
    PlanShards();
    PlanNetworks();
    PlanPlaces();
    return plan_;
  }

 private:
  void PlanBuffers();
  void PlanBatches();
  std::int64_t BytesOfSolving() const;
  void PlanShards();
  void PlanNetworks();
  void PlanPlaces();

  // Whether rows are labelled by a network.
  bool needs_network() const { return rows_ > 0 && NeedsNetwork(config_.generate.target); }
  bool validates() const { return config_.validation.every_updates > 0; }

  // Returns the number of inference copies of the network.
  std::int64_t num_inference_nets() const {
    return (needs_network() ? 1 : 0) + (validates() ? 1 : 0) + (sync_main_ ? 1 : 0);
  }

  const Config& config_;
  const std::unique_ptr<const Domain> domain_;
  const DomainSpec& spec_;
  const Schema schema_;
  const bool sync_main_;
  const std::int64_t last_;  // the last update, whose batches are the largest
  const std::int64_t rows_;  // rows that are generated for it

  MemoryPlan plan_;
  std::int64_t kept_ = 0;       // part of plan_.replay: rows of earlier updates
  std::int64_t trained_ = 0;    // part of plan_.batches: for training
  std::int64_t validated_ = 0;  // part of plan_.batches: for validation
};

void Planner::PlanBuffers() {
  const auto rows = static_cast<std::size_t>(rows_);
  const Schema generated = sync_main_ ? StateSchema(spec_) : schema_;
  const auto buffer = static_cast<std::int64_t>(DataBuffer::BytesFor(generated, rows));
  plan_.buffers = 2 * buffer;
  if (config_.replay.updates > 0) {
    kept_ =
        static_cast<std::int64_t>(ReplayBuffer::BytesFor(generated, rows, config_.replay.updates));
    plan_.replay = kept_ + buffer;
  }
  if (sync_main_) plan_.replay += static_cast<std::int64_t>(DataBuffer::BytesFor(schema_, rows));
}

void Planner::PlanBatches() {
  const auto bytes = [](const PrefetchConfig& prefetch, const Schema& schema, std::int64_t rows) {
    return NumSlots(prefetch) * rows * static_cast<std::int64_t>(schema.row_bytes());
  };
  trained_ = bytes(config_.prefetch, schema_, config_.live_part_of(config_.batch_size_of(last_)));
  if (validates()) {
    validated_ =
        bytes(config_.prefetch, ExampleSchema(spec_, Head::kV), config_.validation.batch_size);
  }
  const std::int64_t order_of_rows = rows_ * static_cast<std::int64_t>(sizeof(std::uint32_t));
  plan_.batches = trained_ + validated_ + order_of_rows + (validates() ? BytesOfSolving() : 0);
  plan_.inference_inputs = num_inference_nets() *
                           static_cast<std::int64_t>(InferenceNet::kNumSlots) *
                           config_.inference.rows_at_once() * spec_.input.positions;
}

// The memory of trying to solve the validation states.
std::int64_t Planner::BytesOfSolving() const {
  const ValidationConfig& validation = config_.validation;
  if (validation.beam_width == 0) return Expander::BytesFor(spec_, validation.states);
  return BeamMemory::BytesFor(spec_, validation.beam_width, 2 * config_.generate.max_scramble);
}

void Planner::PlanShards() {
  if (config_.data.source == DataSource::kLive) return;
  if (config_.streams()) {
    plan_.shards = StreamLoader::BytesFor(StreamKind(config_, spec_), config_.data);
    return;
  }
  const ShardSetSpec set = ReadShardSetSpec(config_.data.path);
  plan_.shards = ShardLoader::BytesFor(set, config_.data);
}

void Planner::PlanNetworks() {
  // Muon keeps one mean of a hidden matrix and AdamW two of any other parameter, so two are an
  // upper bound.
  const std::int64_t means = config_.optimizer.name == OptimizerKind::kSgd ? 1 : 2;
  const std::int64_t average = config_.train.averages() ? 1 : 0;
  const std::int64_t kept = 1 + means + average;  // weights, means and average, between updates
  constexpr std::int64_t kGradients = 1;
  // The state before the current update, and the state of a checkpoint that is being written.
  constexpr std::int64_t kCopies = 2;
  // Files with weights alone: two wait to be written while the next one is copied.
  constexpr std::int64_t kWaiting = 3;
  const std::int64_t waiting =
      (config_.checkpoint.keep_every > 0 ? kWaiting : 0) + (config_.streams() ? kWaiting : 0);
  const std::int64_t copied_targets = needs_network() ? kCopies : 0;
  const std::int64_t bytes_per_number = config_.inference.precision == Precision::kBf16 ? 2 : 4;
  const NetworkSpec spec = NetworkFor(config_.network, spec_);
  const NetworkCost network = CostOf(spec);
  plan_.parameters = network.parameters;
  if (config_.train.step != TrainStep::kAutograd) {
    // The weights as products take them: the fused step has two copies in its precision. The
    // tensor step has at most 4 bytes for each.
    const bool two_in_fp32 =
        config_.train.step == TrainStep::kFused && config_.train.precision == Precision::kFp32;
    plan_.network += plan_.parameters * (two_in_fp32 ? 8 : 4);
  }
  plan_.network += plan_.parameters * ((kept + kGradients + kCopies * kept + waiting) * 4 +
                                       (num_inference_nets() + copied_targets) *
                                           CopiedBytesPerParameter(spec, config_.inference));
  plan_.activations =
      network.activations * 4 * config_.batch_size_of(last_) / config_.train.accumulation_steps;
  plan_.inference_activations = num_inference_nets() * config_.inference.rows_at_once() *
                                network.activations_at_once * bytes_per_number;
}

void Planner::PlanPlaces() {
  const bool on_gpu = config_.device != "cpu";
  const bool buffers_on_gpu = on_gpu && config_.generate.program == Program::kTensor;
  if (buffers_on_gpu) plan_.generation = 0;
  plan_.allocated = (buffers_on_gpu ? 0 : plan_.buffers) + plan_.replay + plan_.generation +
                    plan_.batches + plan_.shards + plan_.inference_inputs +
                    (on_gpu ? 0 : plan_.network + plan_.activations + plan_.inference_activations);
  if (!on_gpu) return;
  plan_.pinned = plan_.inference_inputs;
  if (config_.prefetch.pin_memory) plan_.pinned += trained_ + plan_.shards + validated_;
}

// Returns advice on which keys to change. Covers the largest part, and parts of at least a quarter
// of its size.
std::string AdviceFor(const MemoryPlan& plan, bool on_gpu) {
  struct Part {
    std::int64_t bytes;
    const char* advice;
  };
  std::vector<Part> parts = {
      {plan.buffers, kToSpareBuffers},
      {plan.replay, "lower replay.updates"},
      {plan.generation,
       "lower generate.chunk_rows, generate.ball_radius, generate.problem_states or, with "
       "searches, generate.search_iterations or generate.search_beam_width"},
      {plan.batches, "lower prefetch.depth or validation.beam_width"},
      {plan.shards, "lower data.cpu_prefetch or data.gpu_prefetch"},
      {plan.inference_inputs + (on_gpu ? 0 : plan.inference_activations),
       "lower inference.batch_size"}};
  if (!on_gpu) {
    parts.push_back({plan.activations, "raise train.accumulation_steps"});
    parts.push_back({plan.network, "lower network.width"});
  }
  std::ranges::sort(parts, std::ranges::greater(), &Part::bytes);
  std::vector<std::string_view> advice;
  for (const Part& part : parts) {
    if (4 * part.bytes >= parts.front().bytes) advice.emplace_back(part.advice);
  }
  return fmt::format("{}", fmt::join(advice, "; "));
}

}  // namespace

MemoryPlan PlanMemory(const Config& config) { return Planner(config).Plan(); }

void CheckLimits(const MemoryPlan& plan, const Config& config) {
  const auto check = [&](const char* key, double limit_gib, std::int64_t bytes, const char* how,
                         std::string_view advice) {
    if (limit_gib == 0 || bytes <= BytesOfGib(limit_gib)) return;
    throw InputError(fmt::format(
        "`{}: {:g}`: the run would {} {} ({}). To stay below the limit: {}", key, limit_gib, how,
        HumanBytes(static_cast<double>(bytes)), DescribeMemory(plan), advice));
  };
  check("memory.allocated_limit_gib", config.memory.allocated_limit_gib, plan.allocated, "allocate",
        AdviceFor(plan, config.device != "cpu"));
  check("memory.mapped_limit_gib", config.memory.mapped_limit_gib, plan.mapped, "map",
        "lower replay.updates, or set data.reading to read");
  check(
      "memory.pinned_limit_gib", config.memory.pinned_limit_gib, plan.pinned, "pin",
      "lower prefetch.depth, data.cpu_prefetch, data.gpu_prefetch or inference.batch_size, or set "
      "prefetch.pin_memory to false");
}

void CheckLimitsOfPhases(const Config& config) {
  for (std::int64_t phase = 0; phase <= std::ssize(config.phases); ++phase) {
    const Config of_phase = ConfigOfPhase(config, phase);
    CheckLimits(PlanMemory(of_phase), of_phase);
  }
}

std::string DescribeMemory(const MemoryPlan& plan) {
  const auto size = [](std::int64_t bytes) { return HumanBytes(static_cast<double>(bytes)); };
  std::string memory = size(plan.buffers) + " for two buffers";
  if (plan.replay > 0) memory += fmt::format(", {} for replay", size(plan.replay));
  if (plan.generation > 0) {
    memory += fmt::format(", at most {} for generating", size(plan.generation));
  }
  if (plan.shards > 0) memory += fmt::format(", {} for chunks of shards", size(plan.shards));
  memory += fmt::format(", {} for batches, {} for the network, {} for activations",
                        size(plan.batches + plan.inference_inputs), size(plan.network),
                        size(plan.activations + plan.inference_activations));
  if (plan.pinned + plan.mapped == 0) return memory;
  return memory + fmt::format("; in total {} allocated, {} of it pinned, and {} mapped",
                              size(plan.allocated), size(plan.pinned), size(plan.mapped));
}

}  // namespace tandem
