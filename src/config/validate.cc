// Checks that involve two keys of a config.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"
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
  std::string text;
  std::string_view last;
  for (const Choice<Target>& row : kTargets) {
    if (!std::invoke(trait, TraitsOf(row.value))) continue;
    if (!last.empty()) text += fmt::format("{}{}", text.empty() ? "" : ", ", last);
    last = row.name;
  }
  return text.empty() ? std::string(last) : fmt::format("{} or {}", text, last);
}

// In sync_main the main thread evaluates states for the searches and labels the rows from replay,
// so the mode needs a search, a target network and replay.
void CheckSyncMain(const Config& c, const Reject& reject) {
  if (!LabelsWhenTraining(c.pipeline.mode)) return;
  const std::string fitting = TargetsWith(&TargetTraits::in_sync_main);
  reject(!NeedsNetwork(c.generate.target), "pipeline.mode", "generate.target",
         "sync_main labels rows with the target network, which this target does not use. Set "
         "generate.target to {}.",
         fitting);
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
         "sync_main labels rows by backups of their own, just before it trains on them. Set "
         "generate.target to {}.",
         fitting);
  reject(c.generate.search == GenerateSearch::kNone, "pipeline.mode", "generate.search",
         "in sync_main the network being trained guides searches. Set generate.search to "
         "greedy, beam or astar.");
  reject(c.replay.updates == 0, "pipeline.mode", "replay.updates",
         "sync_main trains on rows from replay. Set replay.updates to at least 1.");
  reject(c.profile.timing_breakdown, "profile.timing_breakdown", "pipeline.mode",
         "each activity is timed alone, but sync_main evaluates states for searches between "
         "them. Choose another mode, or record a trace with profile.trace.");
  reject(c.pipeline.policy_lag == 1, "pipeline.policy_lag", "pipeline.mode",
         "sync_main labels rows just before it trains on them, so its lag is 0. Set "
         "pipeline.policy_lag to 0 or auto.");
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
  const std::int64_t rows = c.live_rows();
  const bool generates = rows > 0;
  const std::int64_t states_per_step = c.generate.states_per_step();
  const bool takes_walks = LabelsWalks(c.generate.target);
  const bool is_too_long =
      searches && !takes_walks && generates && c.generate.rows_per_search() > rows;
  reject(is_too_long && states_per_step == 1, "generate.search_iterations",
         "train.iterations_per_update",
         "a search must end within a buffer, which has {} rows. Lower generate.search_iterations, "
         "or raise train.iterations_per_update.",
         rows);
  reject(is_too_long, "generate.search_iterations", "train.iterations_per_update",
         "a search with {} states per step must end within a buffer, which has {} rows. Lower "
         "generate.search_iterations or generate.search_beam_width, or raise "
         "train.iterations_per_update.",
         states_per_step, rows);
  reject(UsesRowsPerWalk(c.generate.target) && c.generate.rows_of_walk() > c.generate.max_scramble,
         "generate.rows_per_walk", "generate.max_scramble",
         "each row is another state of a walk. Lower generate.rows_per_walk, or raise "
         "generate.max_scramble.");
  // The rows of a walk lie within one buffer.
  reject(takes_walks && generates && c.generate.rows_of_walk() > rows, "generate.max_scramble",
         "train.iterations_per_update",
         "a walk must end within a buffer, which has {} rows; otherwise no example would have the "
         "greatest lengths. Lower generate.max_scramble, or raise train.iterations_per_update.",
         rows);
}

// Checks the keys of the searches that generate examples.
void CheckGenerateSearch(const Config& c, const Reject& reject) {
  const GenerateConfig& g = c.generate;
  reject(
      g.temperature > 0 && g.search != GenerateSearch::kGreedy && g.search != GenerateSearch::kBeam,
      "generate.temperature", "generate.search",
      "only greedy and beam searches choose among children at random. Set generate.temperature "
      "to 0, or generate.search to greedy or beam.");
  reject(g.curriculum && !g.searches(), "generate.curriculum", "generate.search",
         "scrambles become longer when searches solve half of them, and without a search nothing "
         "is solved. Set generate.curriculum to false, or generate.search to greedy, beam or "
         "astar.");
  reject(g.backup != Backup::kOneStep && !g.searches(), "generate.backup", "generate.search",
         "this backup works on the states that a search expanded. Set generate.backup to one_step, "
         "or generate.search to greedy, beam or astar.");
  reject(g.backup != Backup::kOneStep && LabelsWhenTraining(c.pipeline.mode), "generate.backup",
         "pipeline.mode",
         "sync_main labels rows one by one just before it trains on them, when the search that "
         "they come from is gone. Set generate.backup to one_step, or choose another mode.");
  if (g.target == Target::kOwnSolutions) {
    reject(g.search != GenerateSearch::kGreedy && g.search != GenerateSearch::kBeam,
           "generate.search", "generate.target",
           "solutions to learn from are found by greedy or beam search. Set generate.search to one "
           "of these.");
    reject(g.temperature > 0, "generate.temperature", "generate.target",
           "searches for solutions do not choose at random. Set generate.temperature to 0.");
    reject(g.backup != Backup::kOneStep, "generate.backup", "generate.target",
           "solutions label their states, and no estimates are backed up. Set generate.backup to "
           "one_step.");
    reject(g.hindsight, "generate.hindsight", "generate.target",
           "random walks label the states whose searches reach no goal. Set generate.hindsight to "
           "false.");
  }
  reject(g.hindsight && !g.searches(), "generate.hindsight", "generate.search",
         "hindsight gives the states of a search the goal that the search did reach. Set "
         "generate.hindsight to false, or generate.search to greedy, beam or astar.");
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
  reject(c.train.policy_weight != TrainingConfig().policy_weight &&
             !(HasPolicy(head) && EstimatesCosts(head)),
         "train.policy_weight", "network.head",
         "only head vp learns a policy beside the cost. Remove train.policy_weight, or set "
         "network.head to vp.");
}

// Checks the keys that let a policy guide searches.
void CheckGuidance(const Config& c, const Reject& reject) {
  const bool has_policy = HasPolicy(c.network.head);
  const bool has_both = has_policy && EstimatesCosts(c.network.head);
  const SearchMethod method = c.search.method;
  reject(
      c.search.policy_weight > 0 && !has_both, "search.policy_weight", "network.head",
      "only head vp has a policy beside the cost. Set search.policy_weight to 0, or network.head "
      "to vp.");
  reject(c.search.policy_weight > 0 && !IsBeamSearch(method), "search.policy_weight",
         "search.method",
         "this search ranks states by cost and estimate alone. Set search.policy_weight to 0, or "
         "search.method to beam.");
  reject(c.search.policy_actions > 0 && !has_policy, "search.policy_actions", "network.head",
         "this network does not say how probable actions are. Set search.policy_actions to 0, or "
         "network.head to policy or vp.");
  reject(c.search.policy_actions > 0 && !IsBeamSearch(method) && method != SearchMethod::kAStar,
         "search.policy_actions", "search.method",
         "this search expands all actions. Set search.policy_actions to 0, or search.method to "
         "beam or astar.");
}

// A policy ranks the actions of a state and estimates no cost-to-go.
void CheckPolicy(const Config& c, const Reject& reject) {
  if (EstimatesCosts(c.network.head)) return;
  reject(!WorksWithPolicy(c.search.method), "search.method", "network.head",
         "this search adds the cost so far to an estimate of the remaining cost, and a policy "
         "gives only probabilities of actions. Set search.method to beam or greedy.");
  reject(c.validation.best_by == Measure::kValueError, "validation.best_by", "network.head",
         "a policy estimates no costs, so its estimates have no error. Set validation.best_by to "
         "solve_rate.");
}

// Without known lengths, estimates are compared with the lengths of scrambles, which value
// iteration and solutions are there to improve on.
void CheckBestBy(const Config& c, const Reject& reject) {
  reject(c.validation.best_by == Measure::kValueError && c.validation.file.empty() &&
             c.labels_with_network(),
         "validation.best_by", "generate.target",
         "a scramble may be longer than the cost-to-go that this target learns, so the error "
         "against scrambles says nothing. Set validation.file to states with `optimal`, or "
         "validation.best_by to solve_rate.");
}

// Checks the keys that need a ball around the goal.
void CheckBalls(const Config& c, const Reject& reject) {
  reject(c.generate.anchor_share > 0 && c.generate.ball_radius == 0, "generate.anchor_share",
         "generate.ball_radius",
         "anchors are drawn from the ball around the goal. Set generate.ball_radius above 0, or "
         "generate.anchor_share to 0.");
  reject(c.generate.ball_radius > 0 && !TraitsOf(c.generate.target).takes_ball,
         "generate.ball_radius", "generate.target",
         "this target takes no labels from the ball. Set generate.ball_radius to 0.");
}

// Checks where rows come from: shards, generation, or both.
void CheckData(const Config& c, const Reject& reject) {
  if (c.data.source == DataSource::kLive) {
    reject(
        !c.data.path.empty(), "data.path", "data.source",
        "only shards and streams are read from a folder. Set data.source to shards or stream, or "
        "remove data.path.");
    return;
  }
  reject(c.data.path.empty() && !c.streams(), "data.source", "data.path",
         "shards are read from a folder. Set data.path to the folder that `tandem generate` "
         "wrote.");
  reject(c.live_part_of(c.train.batch_size) == c.train.batch_size, "data.live_share", "data.source",
         "no row of a batch would come from the shards. Lower data.live_share, or set "
         "data.source to live.");
  reject(c.profile.timing_breakdown, "profile.timing_breakdown", "data.source",
         "each activity is timed alone, but other threads read shards at the same time. Record "
         "a trace with profile.trace instead.");
  if (c.live_part_of(c.train.batch_size) > 0) return;
  reject(c.data.live_share > 0, "data.live_share", "train.batch_size",
         "the share is less than one row of a batch. Raise data.live_share or "
         "train.batch_size, or set data.live_share to 0.");
  reject(c.replay.updates > 0, "replay.updates", "data.live_share",
         "replay keeps rows that are generated during the run. Raise data.live_share, or set "
         "replay.updates to 0.");
  reject(LabelsWhenTraining(c.pipeline.mode), "pipeline.mode", "data.live_share",
         "sync_main labels rows that are generated during the run. Raise data.live_share, or "
         "choose another mode.");
}

// Checks what generators in other processes can do for a run (docs/stream.md).
void CheckStream(const Config& c, const Reject& reject) {
  if (!c.streams()) return;
  reject(!NeedsNetwork(c.generate.target), "data.source", "generate.target",
         "these rows depend on their numbers alone and on no weights, so the run can make them "
         "itself, and `tandem generate` can write them before it. Set data.source to live or "
         "shards, or generate.target to one that a network labels.");
  reject(LabelsWhenTraining(c.pipeline.mode), "data.source", "pipeline.mode",
         "sync_main labels rows when it draws them from replay, and the rows of a stream are "
         "labelled already. Set data.source to live, or choose another mode.");
  reject(c.generate.curriculum, "generate.curriculum", "data.source",
         "the run's own fills decide how long scrambles may be, and generators in other processes "
         "do not see them. Set generate.curriculum to false, or data.source to live.");
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
  const bool takes_walks = LabelsWalks(c.generate.target);
  reject(c.generate.rows_per_search() > c.data.stream_rows, "data.stream_rows",
         takes_walks ? "generate.max_scramble" : "generate.search_iterations",
         "a {} must end within a shard, and fills {} rows. Raise data.stream_rows.",
         takes_walks ? "walk" : "search", c.generate.rows_per_search());
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
  reject(
      DependsOnLength(c.optimizer.schedule) &&
          c.optimizer.final_learning_rate > c.optimizer.learning_rate,
      "optimizer.final_learning_rate", "optimizer.learning_rate",
      "the linear and cosine schedules decrease, so they must end at or below their start. Lower "
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

// Checks when the target network is refreshed, and with which weights.
void CheckRefresh(const Config& c, const Reject& reject) {
  const bool has_target = c.labels_with_network();
  const std::string labelled = TargetsWith(&TargetTraits::needs_network);
  reject(c.pipeline.refresh != Refresh::kLoss && !has_target, "pipeline.refresh", "generate.target",
         "this run has no target network. Remove pipeline.refresh, or generate examples with the "
         "target {}.",
         labelled);
  reject(c.pipeline.refresh != Refresh::kLoss && c.pipeline.loss_thresh.has_value(),
         "pipeline.loss_thresh", "pipeline.refresh",
         "only `refresh: loss` looks at the loss. Set pipeline.refresh to loss, or "
         "pipeline.loss_thresh to null.");
  reject(c.pipeline.refresh == Refresh::kSolveRate && c.pipeline.refresh_every != 1,
         "pipeline.refresh_every", "pipeline.refresh",
         "with solve_rate, validations decide when the target network is refreshed. Remove "
         "pipeline.refresh_every, or set pipeline.refresh to loss or every.");
  reject(c.pipeline.refresh == Refresh::kSolveRate && c.validation.every_updates == 0,
         "pipeline.refresh", "validation.every_updates",
         "the solve rate comes from validations. Set validation.every_updates to at least 1.");
  reject(c.train.labels_with_average() && !has_target, "train.ema_use", "generate.target",
         "this run has no target network. Set train.ema_use to saved, or generate examples with "
         "the target {}.",
         labelled);
}

void CheckWatchdog(const Config& c, const Reject& reject) {
  reject(c.train.on_stall == OnStall::kStop && c.train.watchdog_seconds == 0, "train.on_stall",
         "train.watchdog_seconds",
         "nothing watches the run. Set train.watchdog_seconds to a time above 0.");
}

void CheckInputLayer(const Config& c, const Reject& reject) {
  reject(c.network.input_layer == InputLayer::kLinear && c.network.kind != kResNetFc,
         "network.input_layer", "network.kind",
         "only resnet_fc has such a layer. Set network.input_layer to hidden.");
  reject(c.network.input_layer == InputLayer::kLinear && c.network.stem_width > 0,
         "network.input_layer", "network.stem_width",
         "two linear layers with no activation between them are one. Set network.stem_width to 0, "
         "or network.input_layer to hidden.");
  reject(c.network.input_layer == InputLayer::kLinear && c.network.blocks == 0,
         "network.input_layer", "network.blocks",
         "the whole network would be linear. Set network.blocks to at least 1, or "
         "network.input_layer to hidden.");
}

// Checks the backends and the precisions of 8 bits, which not every network has.
void CheckBackend(const Config& c, const Reject& reject) {
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
  reject(c.inference.precision == Precision::kFp8 && by_row &&
             (c.network.width % 16 != 0 || c.network.stem_width % 16 != 0),
         "inference.precision", c.network.width % 16 != 0 ? "network.width" : "network.stem_width",
         "products in fp8 need multiples of 16 with this network.norm. Change the width, or set "
         "inference.precision to bf16.");
}

void CheckResNet2d(const Config& c, const Reject& reject) {
  if (c.network.kind != kResNet2d) return;
  reject(c.network.stem_width > 0, "network.stem_width", "network.kind",
         "the stem is a linear layer of resnet_fc. Remove network.stem_width.");
  reject(c.network.norm == Norm::kLayer || c.network.norm == Norm::kRms, "network.norm",
         "network.kind",
         "convolutions are normalised by batch normalisation or not at all. Set network.norm to "
         "batch or none.");
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

// Checks what the tensor programs of generation and search support.
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

void CheckTensorSearch(const Config& c, const Reject& reject) {
  if (c.search.program != Program::kTensor) return;
  reject(c.search.method != SearchMethod::kBeam, "search.program", "search.method",
         "only beam search has a tensor program. Set search.program to domain, or search.method to "
         "beam.");
  reject(!ValuesStates(c.network.head), "search.program", "network.head",
         "the tensor program ranks states by their estimates. Set search.program to domain.");
  reject(c.search.policy_weight > 0, "search.program", "search.policy_weight",
         "the tensor program does not evaluate the policy. Set search.program to domain, or "
         "search.policy_weight to 0.");
  reject(c.search.policy_actions > 0, "search.program", "search.policy_actions",
         "the tensor program does not evaluate the policy. Set search.program to domain, or "
         "search.policy_actions to 0.");
}

void CheckSearch(const Config& c, const Reject& reject) {
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

}  // namespace

void Validate(const Config& config, const Contradiction& contradiction) {
  const Reject reject(contradiction);
  for (const auto check :
       {CheckSyncMain, CheckExamples, CheckGenerateSearch,   CheckHead,
        CheckGuidance, CheckPolicy,   CheckBestBy,           CheckBalls,
        CheckData,     CheckStream,   CheckTraining,         CheckRefresh,
        CheckWatchdog, CheckBackend,  CheckResNet2d,         CheckInputLayer,
        CheckSizes,    CheckSearch,   CheckTensorGeneration, CheckTensorSearch}) {
    check(config, reject);
  }
}

}  // namespace tandem
