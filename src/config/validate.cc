#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/update_plan.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Most examples and iterations of a run, so that their numbers stay within 64 bits.
constexpr double kMostCounted = 1e18;

// Reject reports a contradiction if a condition is true, and formats its reason only then.
class Reject {
 public:
  explicit Reject(const Contradiction& contradiction) : contradiction_(contradiction) {}

  template <class... Args>
  void operator()(bool if_true, const char* key, const char* other, fmt::format_string<Args...> why,
                  Args&&... args) const {
    if (if_true) contradiction_(key, other, fmt::format(why, std::forward<Args>(args)...));
  }

 private:
  const Contradiction& contradiction_;
};

// Names the targets that have a trait, for advice: "value_iteration, policy or own_solutions".
template <class Trait>
std::string TargetsWith(const Trait& trait) {
  std::vector<std::string_view> names;
  for (const Choice<Target>& row : kTargets) {
    if (std::invoke(trait, TraitsOf(row.value))) names.push_back(row.name);
  }
  return OneOf(names);
}

// Checks the keys that differ from their defaults, and so need something of another key.
void CheckNeeds(const Config& config, const Contradiction& contradiction) {
  Config copy = config;
  Config defaults;
  for (const Field& field : FieldsOf(copy)) {
    for (const Need& need : field.traits.needs) {
      if (need.is_met(config)) continue;
      if (FieldText(field) == ValueText(defaults, field.key)) continue;
      const std::string advice =
          need.advice.empty() ? "Remove" : fmt::format("{}, or remove", need.advice);
      contradiction(field.key, std::string(need.other),
                    fmt::format("{} {} {}.", need.why, advice, field.key));
    }
  }
}

// In sync_main the main thread evaluates states for the searches and labels the rows from replay,
// so the mode needs a search, a target network and replay. For games it needs replay alone.
void CheckSyncMain(const Config& c, const Reject& reject) {
  if (!LabelsWhenTraining(c.pipeline.mode)) return;
  reject(c.replay.updates == 0, "pipeline.mode", "replay.updates",
         "sync_main trains on rows from replay. Set replay.updates to at least 1.");
  reject(c.pipeline.policy_lag == 1, "pipeline.policy_lag", "pipeline.mode",
         "sync_main labels rows with the newest weights, so its lag is 0. Set "
         "pipeline.policy_lag to 0 or auto.");
  if (c.generate.target == Target::kSelfPlay) return;  // self-play searches by itself
  const std::string fitting = TargetsWith(&TargetTraits::in_sync_main);
  reject(
      c.generate.target == Target::kOwnSolutions, "pipeline.mode", "generate.target",
      "sync_main labels rows one by one just before it trains on them, and a solution labels all "
      "its states at once. Choose another mode.");
  reject(
      IsQLearning(c.generate.target), "pipeline.mode", "generate.target",
      "in sync_main rows come from searches, and q_learning labels only one action of the states "
      "that a search has evaluated anyway. Set generate.target to {}.",
      fitting);
  reject(!TraitsOf(c.generate.target).in_sync_main, "pipeline.mode", "generate.target",
         "sync_main labels rows with the target network, which this target does not use. Set "
         "generate.target to {}.",
         fitting);
  reject(c.generate.search == GenerateSearch::kNone, "pipeline.mode", "generate.search",
         "in sync_main the network being trained guides searches. Set generate.search to "
         "greedy, beam or astar.");
}

// Checks which states become examples, and which network labels them.
void CheckExamples(const Config& c, const Reject& reject) {
  reject(c.pipeline.mode == Mode::kAsync && c.pipeline.policy_lag == 0, "pipeline.policy_lag",
         "pipeline.mode",
         "async fills a buffer while it trains on the previous one, so its lag is 1. Set "
         "pipeline.policy_lag to 1 or auto, or choose sequential.");
  const bool searches = c.generate.searches();
  const std::string searched = TargetsWith(&TargetTraits::follows_search);
  reject(searches && !NeedsNetwork(c.generate.target), "generate.search", "generate.target",
         "a search leaves the random walk, so the walk does not label its states. "
         "Set generate.target to {}.",
         searched);
  reject(!searches && c.generate.target == Target::kOwnSolutions, "generate.target",
         "generate.search",
         "without a search there are no solutions to learn from. Set generate.search to greedy or "
         "beam.");
  reject(searches && IsQLearning(c.generate.target), "generate.search", "generate.target",
         "a search evaluates all children of a state, so all actions can be labelled without "
         "further evaluations. Set generate.target to {}, or generate.search to none.",
         TargetsWith([](const TargetTraits& t) { return t.backs_up && t.follows_search; }));
  reject(
      searches && !TraitsOf(c.generate.target).follows_search, "generate.search", "generate.target",
      "this target chooses its states itself. Set generate.search to none, or generate.target to "
      "{}.",
      searched);
  reject(c.generate.target == Target::kOwnSolutions && c.generate.search == GenerateSearch::kAStar,
         "generate.search", "generate.target",
         "solutions to learn from are found by greedy or beam search. Set generate.search to one "
         "of these.");
  reject(UsesRowsPerWalk(c.generate.target) && c.generate.rows_of_walk() > c.generate.max_scramble,
         "generate.rows_per_walk", "generate.max_scramble",
         "each row is another state of a walk. Lower generate.rows_per_walk, or raise "
         "generate.max_scramble.");
  const RowSequence sequence = c.generate.sequence();
  reject(c.live_rows() > 0 && sequence.rows > c.live_rows(), sequence.key,
         "train.iterations_per_update",
         "a {} must end within a buffer, which has {} rows, and fills {}. Lower {}, or raise "
         "train.iterations_per_update.",
         sequence.noun, c.live_rows(), sequence.rows, sequence.key);
}

// Checks which labels a head can learn from. Rows of shards have their own labels.
void CheckHead(const Config& c, const Reject& reject) {
  const Head head = c.network.head;
  const Target target = c.generate.target;
  const bool generates = c.live_rows() > 0 || c.streams();
  reject(!EstimatesCosts(head) && !TraitsOf(target).labels_policies && generates, "network.head",
         "generate.target",
         "a policy learns which action to take, and this target labels states with costs. Set "
         "generate.target to {}, or network.head to v or q.",
         TargetsWith(&TargetTraits::labels_policies));
  reject(RanksActions(head) && EstimatesCosts(head) && !TraitsOf(target).fits_action_heads &&
             c.live_rows() > 0,
         "generate.target", "network.head",
         "this target labels states with their costs-to-go. Set network.head to v.");
  reject(target == Target::kPolicy && EstimatesCosts(head), "generate.target", "network.head",
         "this target labels states with an action, and the head learns costs. Set network.head "
         "to policy, or generate.target to walk_length.");
  reject(IsQLearning(target) && !IsQ(head), "generate.target", "network.head",
         "Q-learning labels actions with costs. Set network.head to q, or generate.target to "
         "value_iteration.");
}

// Checks where rows come from: shards, generation, or both.
void CheckData(const Config& c, const Reject& reject) {
  if (c.data.source == DataSource::kLive) return;
  reject(c.data.path.empty() && !c.streams(), "data.source", "data.path",
         "shards are read from a folder. Set data.path to the folder that `tandem generate` "
         "wrote.");
  reject(c.live_part_of(c.train.batch_size) == c.train.batch_size, "data.live_share", "data.source",
         "no row of a batch would come from the shards. Lower data.live_share, or set "
         "data.source to live.");
  if (c.live_part_of(c.train.batch_size) > 0) return;
  reject(c.data.live_share > 0, "data.live_share", "train.batch_size",
         "the share is less than one row of a batch. Raise data.live_share or "
         "train.batch_size, or set data.live_share to 0.");
  reject(LabelsWhenTraining(c.pipeline.mode), "pipeline.mode", "data.live_share",
         "sync_main labels rows that are generated during the run. Raise data.live_share, or "
         "choose another mode.");
}

// Checks what generators in other processes can do for a run (docs/guide/scale-out.md).
void CheckStream(const Config& c, const Reject& reject) {
  if (!c.streams()) return;
  reject(!NeedsNetwork(c.generate.target), "data.source", "generate.target",
         "these rows depend on their numbers alone and on no weights, so the run can make them "
         "itself, and `tandem generate` can write them before it. Set data.source to live or "
         "shards, or generate.target to one that a network labels.");
  reject(
      LabelsWhenTraining(c.pipeline.mode), "data.source", "pipeline.mode",
      "in sync_main this process labels all rows, and the rows of a stream are labelled already. "
      "Set data.source to live, or choose another mode.");
  reject(!c.train.max_updates, "train.max_updates", "data.source",
         "auto measures how long an update takes, but that depends on generators that come and go. "
         "Give train.max_updates a number.");
  reject(c.train.accumulation_steps > 1 && c.data.live_share > 0, "train.accumulation_steps",
         "data.source",
         "a batch has fewer rows while no shard is there, so it cannot always be split into equal "
         "parts. Set train.accumulation_steps to 1, or data.live_share to 0.");
  reject(c.network.norm == Norm::kBatch && c.live_part_of(c.train.batch_size) == 1, "network.norm",
         "data.live_share",
         "a batch has a single example while no shard is there, and batch normalisation needs at "
         "least 2. Raise data.live_share, or set network.norm to layer.");
  const RowSequence sequence = c.generate.sequence();
  reject(sequence.rows > c.data.stream_rows, "data.stream_rows", sequence.key,
         "a {} must end within a shard, and fills {} rows. Raise data.stream_rows.", sequence.noun,
         sequence.rows);
}

void CheckPlan(const Config& c, const Reject& reject) {
  if (c.train.plan.empty()) return;
  reject(!c.train.max_updates, "train.plan", "train.max_updates",
         "with auto the run makes its own plan. Set train.plan to null.");
  UpdatePlan plan(1);
  std::string wrong;
  try {
    plan = UpdatePlan::Parse(c.train.plan);
  } catch (const InputError& error) {
    wrong = error.what();
  }
  reject(!wrong.empty(), "train.plan", "train.max_updates", "{}", wrong);
  reject(plan.updates() != *c.train.max_updates, "train.plan", "train.max_updates",
         "the plan ends with {} updates. Set train.max_updates to that number, or train.plan to "
         "null.",
         plan.updates());
  // The learning rate counts the iterations of each revision.
  const auto longest = std::ranges::max(plan.revisions(), {}, &UpdatePlan::Revision::updates);
  reject(static_cast<double>(longest.updates) * static_cast<double>(c.train.iterations_per_update) >
             kMostCounted,
         "train.plan", "train.iterations_per_update",
         "a revision plans more than 10^18 iterations. Set train.plan to null, or train from the "
         "config.yaml that the run saved.");
}

void CheckTraining(const Config& c, const Reject& reject) {
  reject(!c.train.max_updates && c.train.max_seconds == 0, "train.max_updates", "train.max_seconds",
         "auto derives the number of updates from a time limit, so the limit must be more "
         "than 0 seconds. Set train.max_seconds, or give train.max_updates a number.");
  CheckPlan(c, reject);
  reject(DependsOnLength(c.optimizer.schedule) &&
             c.optimizer.final_learning_rate > c.optimizer.learning_rate,
         "optimizer.final_learning_rate", "optimizer.learning_rate",
         "the linear schedule decreases, so it must end at or below its start. Lower "
         "optimizer.final_learning_rate.");
  reject(c.network.norm == Norm::kBatch && c.train.batch_size == c.train.accumulation_steps,
         "network.norm", "train.batch_size",
         "batch normalisation needs at least 2 examples in each part of a batch. Raise "
         "train.batch_size, lower train.accumulation_steps, or set network.norm to layer.");
  reject(c.train.batch_size % c.train.accumulation_steps != 0, "train.accumulation_steps",
         "train.batch_size",
         "a batch is split into equal parts, so train.batch_size must be a multiple of "
         "train.accumulation_steps");
}

// Checks the normalisations, the backends and the precisions of 8 bits, which not every network
// has.
void CheckNetwork(const Config& c, const Reject& reject) {
  const bool is_auto = c.backend == BackendKind::kAuto;
  reject(!is_auto && c.backend != BackendKind::kReference && !IsFullyConnected(c.network.kind),
         "backend", "network.kind",
         "cpu and gpu compute networks of kinds resnet_fc and mlp only. Set backend to reference "
         "or auto.");
  reject(c.inference.precision == Precision::kInt8 && !is_auto && c.backend != BackendKind::kCpu,
         "inference.precision", "backend",
         "only backend cpu computes in int8. Set backend to cpu, or inference.precision to auto.");
  reject(c.inference.precision == Precision::kFp8 && !is_auto && c.backend != BackendKind::kGpu,
         "inference.precision", "backend",
         "only backend gpu computes in fp8. Set backend to gpu, or inference.precision to auto.");
  const bool is_narrow =
      c.inference.precision == Precision::kInt8 || c.inference.precision == Precision::kFp8;
  reject(is_narrow && !IsFullyConnected(c.network.kind), "inference.precision", "network.kind",
         "only resnet_fc and mlp are evaluated in int8 and fp8. Set inference.precision to auto.");
  const bool by_row = c.network.norm == Norm::kLayer || c.network.norm == Norm::kRms;
  reject(c.network.kind == kResNet2d && by_row, "network.norm", "network.kind",
         "convolutions are normalised by batch normalisation or not at all. Set network.norm to "
         "batch or none.");
  reject(c.inference.precision == Precision::kFp8 && by_row &&
             (c.network.width % 16 != 0 || c.network.stem_width % 16 != 0),
         "inference.precision", c.network.width % 16 != 0 ? "network.width" : "network.stem_width",
         "products in fp8 need multiples of 16 with this network.norm. Change the width, or set "
         "inference.precision to bf16.");
}

void CheckSizes(const Config& c, const Reject& reject) {
  const std::int64_t updates = c.train.max_updates.value_or(1);
  const auto rows = static_cast<double>(c.rows_per_update());
  reject(rows * static_cast<double>(updates) > kMostCounted, "train.max_updates",
         "train.iterations_per_update",
         "the run would train on more than 10^18 examples. Lower one of the two keys.");
  reject(rows > UINT32_MAX, "train.batch_size", "train.iterations_per_update",
         "their product, the number of rows in a buffer, may be at most 4,294,967,295. Lower "
         "one of the two keys.");
}

// Checks what the tensor program of generation supports.
void CheckTensorGeneration(const Config& c, const Reject& reject) {
  const GenerateConfig& g = c.generate;
  if (g.program != Program::kTensor || c.live_rows() == 0) return;
  reject(!TraitsOf(g.target).by_tensors, "generate.program", "generate.target",
         "the tensor program has no such labels. Set generate.program to domain, or "
         "generate.target to {}.",
         TargetsWith(&TargetTraits::by_tensors));
  reject(c.network.head != Head::kV, "generate.program", "network.head",
         "the tensor program labels states with one cost. Set generate.program to domain, or "
         "network.head to v.");
  reject(g.searches(), "generate.program", "generate.search",
         "the tensor program has no searches that generate. Set generate.program to domain, or "
         "generate.search to none.");
  reject(g.ball_radius > 0, "generate.program", "generate.ball_radius",
         "the ball of exact labels is in host memory. Set generate.program to domain, or "
         "generate.ball_radius to 0.");
  reject(c.replay.updates > 0, "generate.program", "replay.updates",
         "replay keeps rows in host memory, and the tensor program leaves them on the device. Set "
         "generate.program to domain, or replay.updates to 0.");
}

void CheckSearch(const Config& c, const Reject& reject) {
  reject(!EstimatesCosts(c.network.head) && !WorksWithPolicy(c.search.method), "search.method",
         "network.head",
         "this search adds the cost so far to an estimate of the remaining cost, and a policy "
         "gives only probabilities of actions. Set search.method to beam or greedy.");
  reject(c.search.method == SearchMethod::kAnytimeBeam && c.search.max_seconds == 0,
         "search.method", "search.max_seconds",
         "anytime_beam widens its beam until the time is used up, so the limit must be more than 0 "
         "seconds. Set search.max_seconds, or set search.method to beam.");
  reject(c.search.method == SearchMethod::kQStar && !IsQ(c.network.head), "search.method",
         "network.head",
         "q_star needs the costs of actions, and this network does not estimate them. Set "
         "network.head to q or q_in, or search.method to astar.");
  reject(c.search.inverse == UseInverse::kYes && !IsBeamSearch(c.search.method), "search.inverse",
         "search.method",
         "only beam search starts from a position and its inverse together. Set search.method to "
         "beam, or search.inverse to false.");
}

// Returns a sentence for each key that has no effect, of those that `may_be` selects.
std::vector<std::string> DescribeUnused(const Config& config, const auto& may_be) {
  Config copy = config;
  std::vector<std::string> sentences;
  for (const Field& field : FieldsOf(copy)) {
    const KeyTraits& traits = field.traits;
    if (traits.is_used == nullptr || traits.is_used(config) || !may_be(field)) continue;
    sentences.push_back(
        fmt::format("`{}: {}` has no effect: {}", field.key, FieldText(field), traits.why_unused));
  }
  return sentences;
}

bool IsOfSearch(const Field& field) { return field.section() == "search"; }

}  // namespace

void Validate(const Config& config, const Contradiction& contradiction) {
  const Reject reject(contradiction);
  CheckNeeds(config, contradiction);
  for (const auto check :
       {CheckSyncMain, CheckExamples, CheckHead, CheckData, CheckStream, CheckTraining,
        CheckNetwork, CheckSizes, CheckSearch, CheckTensorGeneration}) {
    check(config, reject);
  }
}

void CheckRanks(const Config& config) {
  if (!config.train.max_updates || config.train.follows_clock) {
    throw InputError(
        "`train.max_updates: auto` is not supported with several ranks, whose clocks would plan "
        "differently. Set a number, and train.max_seconds as a limit");
  }
  const auto refuse = [&](bool refused, std::string_view key, std::string_view why) {
    if (!refused) return;
    throw InputError(fmt::format(
        "`{}: {}` is not supported with several ranks: {}. Change the key, or train in one process",
        key, ValueText(config, key), why));
  };
  refuse(config.data.source != DataSource::kLive, "data.source",
         "the position in the data is that of one process");
  refuse(LabelsWhenTraining(config.pipeline.mode), "pipeline.mode",
         "its results depend on timing, so the ranks cannot be compared");
  refuse(config.replay.updates > 0, "replay.updates", "a checkpoint holds the rows of one process");
  refuse(config.generate.program == Program::kTensor, "generate.program",
         "it has been tested in one process only");
  refuse(config.generate.curriculum, "generate.curriculum",
         "each rank would follow the searches of its own rows");
}

std::vector<std::string> DescribeUnusedKeys(const Config& run) {
  const Config defaults;
  return DescribeUnused(run, [&](const Field& field) {
    return !IsOfSearch(field) && FieldText(field) != ValueText(defaults, field.key);
  });
}

std::vector<std::string> DescribeUnusedSearchKeys(const Config& config,
                                                  const std::vector<Override>& overrides) {
  return DescribeUnused(config, [&](const Field& field) {
    return IsOfSearch(field) && IsOverridden(overrides, field.key);
  });
}

}  // namespace tandem
