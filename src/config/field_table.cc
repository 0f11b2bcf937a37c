// The keys of a config: their names, meanings, ranges, places in Config and traits.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "config/fields.h"

namespace tandem {
namespace {

// Explains each choice in a list after `question`.
template <class Table>
std::string ExplainChoices(std::string_view question, const Table& choices) {
  std::string text(question);
  for (const auto& choice : choices) {
    if (choice.meaning.empty()) continue;
    text += fmt::format("{}- {}: {}.", text.empty() ? "" : "\n", choice.name, choice.meaning);
  }
  return text;
}

// Makes a key whose value is one of `choices`, a table that outlives every field.
template <class Value, std::size_t kNumber>
Field Choose(std::string key, Value& value, const std::array<Choice<Value>, kNumber>& choices,
             std::string_view question, KeyTraits traits = {}) {
  ChoiceField field;
  for (const Choice<Value>& choice : choices) field.names.emplace_back(choice.name);
  field.get = [&value, &choices] {
    const auto* const row = std::ranges::find(choices, value, &Choice<Value>::value);
    return static_cast<std::size_t>(row - choices.begin());
  };
  field.set = [&value, &choices](std::size_t index) { value = choices.at(index).value; };
  return {std::move(key), ExplainChoices(question, choices), std::move(field), std::move(traits)};
}

Field Switch(std::string key, bool& value, std::string_view meaning, KeyTraits traits = {}) {
  static constexpr auto kSwitch = std::to_array<Choice<bool>>({{false, "false"}, {true, "true"}});
  return Choose(std::move(key), value, kSwitch, meaning, std::move(traits));
}

// Makes a key whose value is a number from `least` to `most`.
template <class Value>
Field Number(std::string key, Value& value, typename NumberField<Value>::Number least,
             typename NumberField<Value>::Number most, std::string meaning, KeyTraits traits = {}) {
  return {std::move(key), std::move(meaning), NumberField<Value>{&value, least, most},
          std::move(traits)};
}

// Conditions of traits, by the sections that they are about.

bool IsAlways(const Config& /*config*/) { return true; }
bool IsNotSyncMain(const Config& c) { return !LabelsWhenTraining(c.pipeline.mode); }
// Whether weights go to a target network or, with a stream, to generators. The lag of generators is
// counted even if they label without a network.
bool HandsOutWeights(const Config& c) { return c.labels_with_network() || c.streams(); }

bool MakesRows(const Config& c) { return c.live_rows() > 0 || c.streams(); }
bool IsNotOwnSolutions(const Config& c) { return c.generate.target != Target::kOwnSolutions; }
bool IsRetrograde(const Config& c) { return c.generate.target == Target::kRetrograde; }
bool IsNotRetrograde(const Config& c) { return !IsRetrograde(c); }
bool IsSelfPlay(const Config& c) { return c.generate.target == Target::kSelfPlay; }
bool HasHeadOfTarget(const Config& c) { return !IsSelfPlay(c) || c.network.head == Head::kVp; }
bool HasValidationOfTarget(const Config& c) {
  return !IsSelfPlay(c) || c.validation.every_updates == 0;
}
bool TakesBall(const Config& c) { return TraitsOf(c.generate.target).takes_ball; }
bool HasExactLabels(const Config& c) { return c.generate.ball_radius > 0; }
bool TakesRowsPerWalk(const Config& c) { return UsesRowsPerWalk(c.generate.target); }
bool SkipsStatesOfWalks(const Config& c) {
  return LabelsWalks(c.generate.target) && c.generate.rows_of_walk() < c.generate.max_scramble;
}
bool Searches(const Config& c) { return c.generate.searches(); }
bool GeneratesGreedily(const Config& c) { return c.generate.search == GenerateSearch::kGreedy; }
bool GeneratesByBeam(const Config& c) { return c.generate.search == GenerateSearch::kBeam; }
bool GeneratesByAStar(const Config& c) { return c.generate.search == GenerateSearch::kAStar; }
bool TakesRandomSteps(const Config& c) { return GeneratesGreedily(c) && IsNotOwnSolutions(c); }
bool SearchesGreedilyOrByBeam(const Config& c) {
  return GeneratesGreedily(c) || GeneratesByBeam(c);
}

// The rounding of a network's estimates depends on which rows are evaluated together, and on a CPU
// on the number of threads.
bool IsLabelled(const Config& c) { return NeedsNetwork(c.generate.target); }
// The searches of own_solutions follow the network without chance.
bool SearchesByChance(const Config& c) { return IsLabelled(c) && IsNotOwnSolutions(c); }
bool IsLabelledByBeam(const Config& c) { return IsLabelled(c) && GeneratesByBeam(c); }
bool IsLabelledInHindsight(const Config& c) { return IsLabelled(c) && c.generate.hindsight; }
bool IsLabelledOnCpu(const Config& c) { return IsLabelled(c) && c.device == "cpu"; }
bool IsLabelledByTemperature(const Config& c) {
  return IsLabelled(c) && c.generate.temperature > 0;
}
bool IsLabelledByBackup(const Config& c) {
  return IsLabelled(c) && c.generate.backup != Backup::kOneStep;
}
bool IsLabelledByFasterBackend(const Config& c) {
  return IsLabelled(c) && c.backend != BackendKind::kReference;
}

bool IsLive(const Config& c) { return c.data.source == DataSource::kLive; }
bool ReadsData(const Config& c) { return !IsLive(c); }
bool ReadsStream(const Config& c) { return c.streams(); }
bool HasNoStream(const Config& c) { return !c.streams(); }
bool ReadsShards(const Config& c) { return c.data.source == DataSource::kShards; }
bool HasLiveRows(const Config& c) { return c.live_part_of(c.train.batch_size) > 0; }

bool IsResNetFc(const Config& c) { return c.network.kind == kResNetFc; }
bool HasConvolutions(const Config& c) { return !IsFullyConnected(c.network.kind); }
bool HasNoConvolutions(const Config& c) { return c.network.kind != kResNet2d; }
bool HasNoStem(const Config& c) { return c.network.stem_width == 0; }
bool HasBlocks(const Config& c) { return c.network.blocks > 0; }
bool HasCosts(const Config& c) { return EstimatesCosts(c.network.head); }
bool HasValues(const Config& c) { return ValuesStates(c.network.head); }
bool HasPolicyHead(const Config& c) { return HasPolicy(c.network.head); }
bool HasCostsAndPolicy(const Config& c) { return HasCosts(c) && HasPolicyHead(c); }

bool EndsAtFinalRate(const Config& c) { return DependsOnLength(c.optimizer.schedule); }
bool DecaysExponentially(const Config& c) { return c.optimizer.schedule == Schedule::kExponential; }
bool HasNoPlan(const Config& c) { return c.train.plan.empty(); }

bool SearchesByBeam(const Config& c) { return IsBeamSearch(c.search.method); }
bool SearchesByOneBeam(const Config& c) { return c.search.method == SearchMethod::kBeam; }
bool SearchesBestFirst(const Config& c) { return IsBestFirst(c.search.method); }
bool SearchesGames(const Config& c) { return PlaysGames(c.search.method); }
bool LimitsLength(const Config& c) { return !SearchesBestFirst(c); }
bool WeighsCosts(const Config& c) {
  return SearchesBestFirst(c) || c.search.method == SearchMethod::kIdaStar;
}
bool ExpandsStates(const Config& c) {
  return SearchesByBeam(c) || c.search.method == SearchMethod::kAStar;
}
bool IgnoresPolicyWeight(const Config& c) { return c.search.policy_weight == 0; }
bool ExpandsAllActions(const Config& c) { return c.search.policy_actions == 0; }

bool Validates(const Config& c) { return c.validation.every_updates > 0; }
bool Traces(const Config& c) { return c.profile.trace_updates > 0; }

// Work for which the path of a key must exist.

bool NeedsShards(const Config& c, PathsOf work) {
  return ReadsShards(c) && work != PathsOf::kShards;
}
bool NeedsWeights(const Config& /*config*/, PathsOf work) {
  return work != PathsOf::kResumedRun;  // which has them in its checkpoint
}
bool NeedsStates(const Config& c, PathsOf work) { return Validates(c) && work != PathsOf::kShards; }

constexpr std::string_view kOnlyData = "only `data.source: shards` or `stream` reads it";
constexpr std::string_view kOnlyStream = "only `data.source: stream` reads it";
constexpr std::string_view kOnlyRetrograde = "only `generate.target: retrograde` reads it";
constexpr std::string_view kOnlySelfPlay = "only `generate.target: self_play` reads it";
// The reason for keys that say how rows are made, and that other such keys depend on. The key
// max_scramble is used even then, by validation.
constexpr std::string_view kAllFromShards =
    "all rows come from shards, which `tandem generate` has written";
constexpr std::string_view kNoTargetNetwork = "this run has no target network";

}  // namespace

std::vector<Field> FieldsOf(Config& c) {
  std::vector<Field> fields = {
      {"domain.name",
       "Puzzle to train on. `tandem domains` lists the puzzles.",
       TextField{&c.domain.name, fmt::format("one of {}", fmt::join(DomainNames(), ", "))},
       {.try_first = true}},

      Choose("pipeline.mode", c.pipeline.mode, kModes, "Order of generating and training.",
             {.try_first = true}),
      Number("pipeline.policy_lag", c.pipeline.policy_lag, 0, 1,
             "Number of updates by which the target network lags behind the network being trained. "
             "auto: 1 in async mode, otherwise 0."),
      Number("pipeline.loss_thresh", c.pipeline.loss_thresh, 0, 1e9,
             "Refresh the target network only after an update whose mean loss is at most this. "
             "null: whatever the loss.",
             {.is_used = HandsOutWeights, .why_unused = kNoTargetNetwork}),
      Number("pipeline.refresh_every", c.pipeline.refresh_every, 1, kMany,
             "Number of updates between two refreshes of the target network or, with loss_thresh, "
             "between two comparisons of the loss with it.",
             {.is_used = HandsOutWeights, .why_unused = kNoTargetNetwork}),

      Choose("generate.target", c.generate.target, kTargets, "How examples are labelled.",
             {.try_first = true,
              .needs = {{"network.head", HasHeadOfTarget,
                         "the rows of games teach a value and a policy.", "Set network.head to vp"},
                        {"validation.every_updates", HasValidationOfTarget,
                         "validation solves puzzles, and a game has an opponent.",
                         "Set validation.every_updates to 0"}},
              .is_used = MakesRows,
              .why_unused = kAllFromShards}),
      Choose("generate.game_search", c.generate.game_search, kGameSearches,
             "The search that plays games and improves the policy (target self_play).",
             {.is_used = IsSelfPlay, .why_unused = kOnlySelfPlay, .is_in_sets = IsSelfPlay}),
      Number("generate.simulations", c.generate.simulations, 2, 100'000,
             "Number of simulations before each move of a game (target self_play).",
             {.is_used = IsSelfPlay, .why_unused = kOnlySelfPlay, .is_in_sets = IsSelfPlay}),
      Choose("generate.search", c.generate.search, kGenerateSearches,
             "Which states become examples. With the target own_solutions, the search that looks "
             "for solutions: greedy or beam.",
             {.is_used = MakesRows,
              .why_unused = kAllFromShards,
              .is_in_sets = IsLabelled,
              .is_in_streams = true}),
      Number("generate.search_iterations", c.generate.search_iterations, 1, 1'000'000,
             "Number of consecutive steps that one search contributes, each with one state or, in "
             "a beam search, with search_beam_width states. If a search reaches a goal earlier, it "
             "restarts from a new scramble. With the target own_solutions, the largest number of "
             "actions in a solution.",
             {.is_used = Searches,
              .why_unused = "only `generate.search: greedy`, `beam` or `astar` reads it",
              .is_in_sets = IsLabelled,
              .is_in_streams = true}),
      Number("generate.search_epsilon", c.generate.search_epsilon, 0, 1,
             "Probability that a step of a greedy search is random. Random steps keep a poor "
             "network from walking in circles. Searches for own_solutions take none.",
             {.is_used = TakesRandomSteps,
              .why_unused = "only `search: greedy` takes random steps, and not for own_solutions",
              .is_in_sets = SearchesByChance,
              .is_in_streams = true}),
      Number("generate.search_weight", c.generate.search_weight, 0, 1000,
             "Weight of the path's cost in the A* that generates examples, as search.weight is for "
             "solving.",
             {.is_used = GeneratesByAStar,
              .why_unused = "only `generate.search: astar` reads it",
              .is_in_sets = SearchesByChance,
              .is_in_streams = true}),
      Number("generate.temperature", c.generate.temperature, 0, 1e6,
             "Temperature of the choice of children in greedy and beam searches: a child whose "
             "path cost plus estimate is c is chosen with probability proportional to exp(-c / "
             "temperature). 0: the best children.",
             {.needs = {{"generate.search", SearchesGreedilyOrByBeam,
                         "only greedy and beam searches choose among children at random.",
                         "Set generate.search to greedy or beam"},
                        {"generate.target", IsNotOwnSolutions,
                         "searches for solutions do not choose at random."}},
              .is_used = MakesRows,
              .why_unused = kAllFromShards,
              .is_in_sets = IsLabelledByTemperature,
              .is_in_streams = true}),
      Number("generate.search_beam_width", c.generate.search_beam_width, 1, 1 << 20,
             "Number of states that a step of a beam search expands when it generates examples, as "
             "search.beam_width is for solving.",
             {.is_used = GeneratesByBeam,
              .why_unused = "only `generate.search: beam` reads it",
              .is_in_sets = IsLabelledByBeam,
              .is_in_streams = true}),
      Switch("generate.curriculum", c.generate.curriculum,
             "true: scrambles are short at first. The longest has 1 action, and doubles up to "
             "max_scramble after each update whose searches solved at least half of their "
             "scrambles, averaged over the lengths (DeepXube's option --bal, balance_steps). With "
             "the target own_solutions, this limits where searches start, and walks have all "
             "lengths. false: all lengths up to max_scramble from the start.",
             {.needs = {{"generate.search", Searches,
                         "scrambles become longer when searches solve half of them, and without a "
                         "search nothing is solved.",
                         "Set generate.search to greedy, beam or astar"},
                        {"data.source", HasNoStream,
                         "the run's own fills decide how long scrambles may be, and generators in "
                         "other processes do not see them.",
                         "Set data.source to live"}},
              .is_used = MakesRows,
              .why_unused = kAllFromShards}),
      Choose("generate.backup", c.generate.backup, kBackups,
             "How the estimates of a search label its states.",
             {.needs = {{"generate.search", Searches,
                         "this backup works on the states that a search expanded.",
                         "Set generate.search to greedy, beam or astar"},
                        {"pipeline.mode", IsNotSyncMain,
                         "sync_main labels rows one by one just before it trains on them, when the "
                         "search that they come from is gone.",
                         "Set pipeline.mode to async"},
                        {"generate.target", IsNotOwnSolutions,
                         "solutions label their states, and no estimates are backed up."}},
              .is_used = MakesRows,
              .why_unused = kAllFromShards,
              .is_in_sets = IsLabelledByBackup,
              .is_in_streams = true}),
      Switch(
          "generate.hindsight", c.generate.hindsight,
          "true: a search that reached no goal is labelled as if its last state had been the goal. "
          "Only for puzzles that can move their goals, such as sokoban and grid.",
          {.needs = {{"generate.search", Searches,
                      "hindsight gives the states of a search the goal that the search did reach.",
                      "Set generate.search to greedy, beam or astar"},
                     {"generate.target", IsNotOwnSolutions,
                      "random walks label the states whose searches reach no goal."}},
           .is_used = MakesRows,
           .why_unused = kAllFromShards,
           .is_in_sets = IsLabelledInHindsight,
           .is_in_streams = true}),
      Number(
          "generate.ball_radius", c.generate.ball_radius, 0, 1e6,
          "States whose cost-to-go is at most this (in moves, if every move costs 1) get exact "
          "labels. They are kept in a ball around the goal. 0: no ball.",
          {.needs = {{"generate.target", TakesBall, "this target takes no labels from the ball."}},
           .is_used = MakesRows,
           .why_unused = kAllFromShards,
           .is_in_sets = HasExactLabels,
           .is_in_streams = true}),
      Number("generate.anchor_share", c.generate.anchor_share, 0, 1,
             "Share of the rows that are anchors: states drawn uniformly from the ball, with exact "
             "labels. They keep estimates near the goal correct. 1: all rows, for a ball that "
             "holds all states.",
             {.needs = {{"generate.ball_radius", HasExactLabels,
                         "anchors are drawn from the ball around the goal.",
                         "Set generate.ball_radius above 0"}},
              .is_used = MakesRows,
              .why_unused = kAllFromShards,
              .is_in_sets = HasExactLabels,
              .is_in_streams = true}),
      Number("generate.problem_rows", c.generate.problem_rows, 1, 1 << 24,
             "Number of consecutive rows that are drawn from one problem (target retrograde). "
             "Finding the states of a problem takes milliseconds, so fewer rows take longer to "
             "generate, and are more varied.",
             {.is_used = IsRetrograde, .why_unused = kOnlyRetrograde, .is_in_sets = IsRetrograde}),
      Number("generate.dead_end_share", c.generate.dead_end_share, 0, 0.9,
             "Share of the rows that are dead ends, from which no goal can be reached (target "
             "retrograde). It is smaller for problems with few dead ends, and 0 if every action "
             "can be undone.",
             {.is_used = IsRetrograde, .why_unused = kOnlyRetrograde, .is_in_sets = IsRetrograde}),
      Number("generate.dead_end_cost", c.generate.dead_end_cost, 0, 1e6,
             "Label of dead ends (target retrograde). It should be more than most costs-to-go, so "
             "that searches leave dead ends for last.",
             {.is_used = IsRetrograde, .why_unused = kOnlyRetrograde, .is_in_sets = IsRetrograde}),
      Number("generate.max_scramble", c.generate.max_scramble, 1, 100'000,
             "Length of the longest random walk from the goal, in actions. With the target "
             "self_play, number of consecutive rows of games played one after the other, and the "
             "length of the longest random opening; the last game is cut short.",
             {.try_first = true, .is_in_sets = IsNotRetrograde, .is_in_streams = true}),
      Number(
          "generate.rows_per_walk", c.generate.rows_per_walk, 1, 100'000,
          "Number of states of a random walk that become rows (targets walk_length and policy). "
          "The walk is divided into as many parts, and each part gives one state. With fewer, the "
          "rows of a batch are more varied, and each row takes more actions to generate. At most "
          "generate.max_scramble. auto: all of a walk of up to 50 actions, and one for every ten "
          "actions of a longer one.",
          {.is_used = TakesRowsPerWalk,
           .why_unused = "only `generate.target: walk_length` or `policy` reads it",
           .is_in_sets = SkipsStatesOfWalks,
           .is_in_streams = true}),
      Choose("generate.program", c.generate.program, kPrograms,
             "What generates the examples of a run. tensor leaves them in the device's memory; "
             "states and walks are the same, and estimates differ by rounding. `tandem generate` "
             "always uses the puzzle's code."),
      Number("generate.workers", c.generate.workers, 1, kMostThreads,
             "Number of threads that generate examples. auto: one per core.", {.may_change = true}),
      Number("generate.chunk_rows", c.generate.chunk_rows, 1, 1 << 24,
             "Number of rows that are generated together as one unit of work. auto: 4096, or 65536 "
             "if generate.program is tensor.",
             {.is_in_sets = IsLabelled}),

      Choose("data.source", c.data.source, kDataSources, "Where the training examples come from."),
      {"data.path",
       "Folder that contains the shards. null with stream: `stream` in the run's folder.",
       PathField{&c.data.path, "folder", NeedsShards},
       {.may_change = true,
        .needs = {{"data.source", ReadsData, "only shards and streams are read from a folder.",
                   "Set data.source to shards or stream"}}}},
      Number("data.live_share", c.data.live_share, 0, 1,
             "Share of each batch that is generated during the run; the rest comes from shards. "
             "Used only with data.source: shards and stream.",
             {.is_used = ReadsData, .why_unused = kOnlyData}),
      Number("data.max_lag", c.data.max_lag, 0, 1'000'000'000,
             "Age limit of the rows of a stream, in updates. If the network that labelled a shard "
             "is older when the shard's turn comes, the shard is dropped, unless no newer weights "
             "were published.",
             {.may_change = true, .is_used = ReadsStream, .why_unused = kOnlyStream}),
      Number("data.stream_rows", c.data.stream_rows, 1, 1 << 24,
             "Number of rows in a shard of a stream.",
             {.may_change = true, .is_used = ReadsStream, .why_unused = kOnlyStream}),
      Number("data.stream_shards", c.data.stream_shards, 1, 1'000'000,
             "Number of shards of a stream that may wait to be used. Generators pause while as "
             "many wait.",
             {.may_change = true, .is_used = ReadsStream, .why_unused = kOnlyStream}),

      Number(
          "replay.updates", c.replay.updates, 0, 10'000,
          "Number of earlier updates whose rows are kept. Each update trains on as many rows as a "
          "buffer holds, drawn from its own rows and the kept ones. 0: train only on the update's "
          "own rows.",
          {.needs = {{"data.live_share", HasLiveRows,
                      "replay keeps rows that are generated during the run.",
                      "Raise data.live_share"}}}),

      {"network.kind", ExplainChoices("", kNetworkKinds),
       TextField{
           &c.network.kind, fmt::format("one of {}", fmt::join(NetworkKindNames(), ", ")),
           [](std::string_view kind) { return std::ranges::count(NetworkKindNames(), kind) > 0; }}},
      Choose("network.head", c.network.head, kHeads, "Outputs of the network.",
             {.is_in_sets = IsAlways, .is_in_streams = true}),
      Number("network.stem_width", c.network.stem_width, 0, 1 << 20,
             "Width of an extra first layer before the others. 0: no extra layer.",
             {.needs = {{"network.kind", HasNoConvolutions,
                         "the stem is a linear layer of resnet_fc."}}}),
      Number(
          "network.width", c.network.width, 1, 1 << 20,
          "Width of the residual blocks, of resnet_2d's linear layer, and of mlp's hidden layers.",
          {.try_first = true}),
      Number("network.blocks", c.network.blocks, 0, 1000,
             "Number of residual blocks, each with two layers; for mlp, number of hidden layers "
             "after the first one.",
             {.try_first = true}),
      Number(
          "network.channels", c.network.channels, 1, 1 << 16,
          "Number of channels of each convolution of resnet_2d.",
          {.is_used = HasConvolutions, .why_unused = "this kind of network has no convolutions"}),
      Choose("network.norm", c.network.norm, kNorms, "Normalisation after each hidden layer."),
      Choose("network.activation", c.network.activation, kActivations,
             "Activation after each hidden layer."),
      Choose("network.input_layer", c.network.input_layer, kInputLayers,
             "The layer that reads the input of the network.",
             {.needs = {{"network.kind", IsResNetFc, "only resnet_fc has such a layer."},
                        {"network.stem_width", HasNoStem,
                         "two linear layers with no activation between them are one.",
                         "Set network.stem_width to 0"},
                        {"network.blocks", HasBlocks, "the whole network would be linear.",
                         "Set network.blocks to at least 1"}}}),
      {"network.init_from",
       "Run folder or checkpoint whose weights initialise the network. null: random initial "
       "weights.",
       PathField{&c.network.init_from, "file or folder", NeedsWeights}},

      Number("optimizer.learning_rate", c.optimizer.learning_rate, 0, 10,
             "Learning rate at the first iteration, apart from warm-up.", {.try_first = true}),
      Choose("optimizer.schedule", c.optimizer.schedule, kSchedules, "Learning-rate schedule."),
      Number(
          "optimizer.final_learning_rate", c.optimizer.final_learning_rate, 0, 10,
          "Learning rate at which the linear schedule ends.",
          {.is_used = EndsAtFinalRate, .why_unused = "only `optimizer.schedule: linear` reads it"}),
      Number("optimizer.decay", c.optimizer.decay, 0, 1,
             "Factor by which the exponential schedule multiplies the learning rate after every "
             "iteration.",
             {.is_used = DecaysExponentially,
              .why_unused = "only `optimizer.schedule: exponential` reads it"}),
      Number("optimizer.warmup_iterations", c.optimizer.warmup_iterations, 0, kMany,
             "Number of iterations in which the learning rate rises linearly to the schedule's "
             "value."),
      Number("optimizer.max_grad_norm", c.optimizer.max_grad_norm, 0, 1e9,
             "Largest norm of the gradient over all weights; a larger gradient is scaled down to "
             "it. 0: no limit."),
      Number("optimizer.weight_decay", c.optimizer.weight_decay, 0, 10,
             "Weight decay of the optimizer, which is AdamW. 0: Adam, which is the same without "
             "decay."),

      Number("train.batch_size", c.train.batch_size, 1, kMostBatchSize,
             "Number of examples per iteration.", {.try_first = true}),
      Number("train.iterations_per_update", c.train.iterations_per_update, 1, 100'000'000,
             "Number of batches in one buffer. The network trains on each buffer once."),
      Number("train.max_updates", c.train.max_updates, 1, kMany,
             "Number of updates, and so of buffers to train on. auto: as many as fit into "
             "max_seconds; the number is estimated before update 0 and revised during the run, and "
             "buffers become shorter if too few updates would fit.",
             {.may_change = true}),
      {"train.plan",
       "Numbers of updates that were planned, which the learning rate followed. Runs with "
       "max_updates: auto write it: `0:180 12:150` means 180 updates planned from update 0 on, and "
       "150 from update 12 on. A new run with a plan does all its updates, without a time limit. "
       "null: no plan.",
       TextField{.value = &c.train.plan, .expected = "a plan, or null", .may_be_null = true}},
      Number("train.max_seconds", c.train.max_seconds, 0, 1e9,
             "End the run after this many seconds of wall time. 0: no limit.",
             {.try_first = true,
              .may_change = true,
              .is_used = HasNoPlan,
              .why_unused = "train.plan says which updates the run does"}),
      Number(
          "train.policy_weight", c.train.policy_weight, 0, 1e6,
          "For head vp, weight of the policy's cross-entropy in the loss, relative to the loss "
          "of the estimated cost.",
          {.needs = {{"network.head", HasCostsAndPolicy,
                      "only head vp learns a policy beside the cost.", "Set network.head to vp"}}}),
      Number("train.accumulation_steps", c.train.accumulation_steps, 1, 1 << 20,
             "Number of equal parts into which a batch is split to save memory. The gradients of "
             "the parts are added up."),
      Number("train.watchdog_seconds", c.train.watchdog_seconds, 0, 1e9,
             "If a thread spends this many seconds on one step, or all threads wait that long, "
             "print what each thread does, save the state before the update, and end the run. Use "
             "more than the longest step takes, such as writing a checkpoint. 0: never.",
             {.may_change = true}),
      Number(
          "train.ema_decay", c.train.ema_decay, 0, 0.9999999,
          "Decay per iteration of an exponential moving average of the weights, which the run "
          "validates and saves instead of them. It is lower in the first iterations, so that the "
          "average forgets the initial weights. 0: no average."),
      Number("train.threads", c.train.threads, 1, kMostThreads,
             "Number of CPU threads for training. auto: one per core.",
             {.may_change = true, .is_of_machine = true}),
      Choose("train.precision", c.train.precision, kPrecisions,
             "Precision of matrix products in training."),

      Switch("prefetch.enabled", c.prefetch.enabled,
             "true: another thread gathers and copies batches ahead of training and of validation. "
             "false: the main thread does it between training steps.",
             {.may_change = true}),
      Number("prefetch.depth", c.prefetch.depth, 1, 64, "Number of batches prepared ahead.",
             {.may_change = true}),
      Switch("prefetch.pin_memory", c.prefetch.pin_memory,
             "true: copy batches to the GPU from pinned memory. false: copy them from pageable "
             "memory.",
             {.may_change = true}),
      Switch("prefetch.copy_stream", c.prefetch.copy_stream,
             "true: copy batches to the GPU on a stream of their own. false: copies wait for "
             "earlier work on the training stream.",
             {.may_change = true}),

      Number("inference.batch_size", c.inference.batch_size, 1, 1 << 24,
             "Number of states that the network evaluates at once. auto: 4096 on a CPU, 32768 on a "
             "GPU.",
             {.is_of_machine = true, .is_in_sets = IsLabelled}),
      Number("inference.threads", c.inference.threads, 1, kMostThreads,
             "Number of CPU threads for evaluating the network. auto: the same as train.threads.",
             {.may_change = true, .is_of_machine = true, .is_in_sets = IsLabelledOnCpu}),
      Choose("inference.precision", c.inference.precision, kInferencePrecisions,
             "Precision of the network's inference copy.",
             {.is_of_machine = true, .is_in_sets = IsLabelled}),

      Choose("search.method", c.search.method, kSearchMethods, "How states are solved.",
             {.may_change = true}),
      Choose(
          "search.program", c.search.program, kPrograms,
          "What runs beam search. Both choices keep the same states if the estimates are the same.",
          {.may_change = true,
           .needs = {{"search.method", SearchesByOneBeam, "only beam search has a tensor program.",
                      "Set search.method to beam"},
                     {"network.head", HasValues,
                      "the tensor program ranks states by their estimates."},
                     {"search.policy_weight", IgnoresPolicyWeight,
                      "the tensor program does not evaluate the policy.",
                      "Set search.policy_weight to 0"},
                     {"search.policy_actions", ExpandsAllActions,
                      "the tensor program does not evaluate the policy.",
                      "Set search.policy_actions to 0"}}}),
      Number("search.beam_width", c.search.beam_width, 1, 1 << 28,
             "Number of states that beam search keeps at each depth. anytime_beam begins with few "
             "and keeps at most this many.",
             {.may_change = true,
              .is_used = SearchesByBeam,
              .why_unused = "only beam searches have a width"}),
      Number(
          "search.max_length", c.search.max_length, 1, 100'000,
          "Length of the longest solution that searches other than A* and Q* look for, in actions. "
          "A game is played for at most as many moves.",
          {.may_change = true,
           .is_used = LimitsLength,
           .why_unused = "A* and Q* find solutions of any length"}),
      Number("search.weight", c.search.weight, 0, 1000,
             "Weight of the path's cost relative to the estimate of the remaining cost in A* and "
             "its variants. 1: shortest solutions if estimates are never too high. Less: fewer "
             "nodes, longer solutions. 0: the estimate alone decides.",
             {.may_change = true,
              .is_used = WeighsCosts,
              .why_unused = "only `search.method: astar`, `q_star` or `ida_star` reads it"}),
      Number("search.policy_weight", c.search.policy_weight, 0, 1000,
             "For head vp, what beam search adds to the rank of a state: this times minus the "
             "logarithm of the probability of the path that leads to it. 0: rank by cost and "
             "estimate alone, without evaluating the policy.",
             {.may_change = true,
              .needs = {{"network.head", HasCostsAndPolicy,
                         "only head vp has a policy beside the cost.", "Set network.head to vp"},
                        {"search.method", SearchesByBeam,
                         "this search ranks states by cost and estimate alone.",
                         "Set search.method to beam"}}}),
      Number("search.policy_actions", c.search.policy_actions, 0, 1 << 16,
             "For heads policy and vp, number of actions of a state that beam search expands, and "
             "with vp also A*: the most probable ones, for which the policy is evaluated once per "
             "state. Actions that end in the goal or in the ball are expanded in any case. 0: all "
             "actions.",
             {.may_change = true,
              .needs = {{"network.head", HasPolicyHead,
                         "this network does not say how probable actions are.",
                         "Set network.head to policy or vp"},
                        {"search.method", ExpandsStates, "this search expands all actions.",
                         "Set search.method to beam or astar"}}}),
      Number("search.simulations", c.search.simulations, 2, 10'000'000,
             "Number of simulations before each move of a game.",
             {.may_change = true,
              .is_used = SearchesGames,
              .why_unused = "only `search.method: gumbel` or `puct` reads it"}),
      Number("search.batch", c.search.batch, 1, 1 << 24,
             "Number of states of one puzzle that A* expands at a time, and of actions that Q* "
             "takes at a time; all open ones if there are fewer.",
             {.may_change = true,
              .is_used = SearchesBestFirst,
              .why_unused = "only `search.method: astar` or `q_star` reads it"}),
      Number("search.instances", c.search.instances, 1, 1 << 20,
             "Number of puzzles that A* and Q* solve at the same time.",
             {.may_change = true,
              .is_used = SearchesBestFirst,
              .why_unused = "only A* and Q* follow it"}),
      Number("search.max_nodes", c.search.max_nodes, 0, std::int64_t{1} << 31,
             "Largest number of states for one puzzle. A* and Q* count the distinct states that "
             "they store. The other searches count all states that they generate, with "
             "repetitions, as `nodes` of the results does; anytime_beam adds up all its beams. 0: "
             "no limit, except that Q* stores at most 4,294,967,295 divided by the number of "
             "actions. auto: 10,000,000 for A* and Q*, no limit for the others.",
             {.may_change = true}),
      Number("search.max_gib", c.search.max_gib, 0, 1e6,
             "End the search for one puzzle before it would take more than this much memory, in "
             "GiB. It counts the states that the search stores, their paths, and the children of "
             "the states that it expands next, but neither the network nor the ball. 0: no limit.",
             {.may_change = true}),
      Number("search.max_seconds", c.search.max_seconds, 0, 1e9,
             "End the search for one puzzle after this many seconds. 0: no limit.",
             {.may_change = true}),
      Number("search.ball_radius", c.search.ball_radius, 0, 1e6,
             "Treat every state whose cost-to-go is at most this (in moves, if every move costs 1) "
             "as a goal with a known rest of the solution. These states are kept in a ball around "
             "the goal. 0: no ball.",
             {.may_change = true}),
      Number("search.at_most", c.search.at_most, 0, 1e9,
             "Largest cost of a solution that searches look for. They drop states from which any "
             "solution would cost more. 0: no limit.",
             {.may_change = true}),
      Choose("search.inverse", c.search.inverse, kUseInverse,
             "Whether beam search also starts from the inverse position. Both share the beam, and "
             "the first solution counts, since a solution of one gives a solution of the other. "
             "Only puzzles whose actions are permutations have inverse positions.",
             {.may_change = true}),

      Number("validation.every_updates", c.validation.every_updates, 0, kMany,
             "Number of updates between validations. The last update is always validated too. 0: "
             "never validate.",
             {.try_first = true}),
      Number("validation.states", c.validation.states, 1, 1 << 20,
             "Largest number of states to validate on."),
      Number("validation.beam_width", c.validation.beam_width, 0, 1 << 20,
             "Width of the beam searches that try to solve the validation states, as "
             "search.beam_width is for solving. 0: use greedy descent instead, which takes the "
             "best action again and again."),
      {"validation.file",
       "JSON-lines file of validation states, in the format of `tandem solve`; each line needs "
       "`optimal`. null: fixed random scrambles of every length up to generate.max_scramble.",
       PathField{&c.validation.file, "file", NeedsStates},
       {.may_change = true}},

      Number("checkpoint.every_updates", c.checkpoint.every_updates, 1, kMany,
             "Number of updates between checkpoints. A run also writes one at its start and at its "
             "end. A checkpoint that is due while another one is being written follows after it.",
             {.may_change = true}),
      Number("checkpoint.every_seconds", c.checkpoint.every_seconds, 0, 1e9,
             "Largest number of seconds of work that a killed run may lose, apart from the time to "
             "write a checkpoint. If the next update might exceed it, the run starts a checkpoint "
             "first. 0: no limit.",
             {.may_change = true}),
      Number("checkpoint.keep", c.checkpoint.keep, 1, 1000,
             "Number of checkpoints from which the run can be resumed. Besides "
             "checkpoint.safetensors, the run keeps the ones before it as previous-N.safetensors, "
             "after N updates. If checkpoint.safetensors is damaged, --resume uses the newest one "
             "that is not. With replay, each takes a replay file too.",
             {.may_change = true}),
      Number("checkpoint.keep_every", c.checkpoint.keep_every, 0, kMany,
             "Number of updates between networks that are kept for good, as "
             "checkpoint-N.safetensors after N updates, for `tandem evaluate --checkpoints all`. "
             "Each file has the network only: 4 bytes per parameter. 0: keep none.",
             {.may_change = true}),

      Number("memory.ball_limit_gib", c.memory.ball_limit_gib, 0.001, 1e6,
             "Largest memory of a ball around the goal. A larger ball ends at a smaller radius in "
             "solving, and is refused in training.",
             {.may_change = true}),

      Switch("profile.timing_breakdown", c.profile.timing_breakdown,
             "true: time each activity of an iteration alone by waiting for the device after it. "
             "Nothing overlaps, so the run is slower; the weights stay the same.",
             {.may_change = true,
              .needs =
                  {{"pipeline.mode", IsNotSyncMain,
                    "each activity is timed alone, but sync_main evaluates states for searches "
                    "between them.",
                    "Set pipeline.mode to async, or use profile.trace_updates"},
                   {"data.source", IsLive,
                    "each activity is timed alone, but other threads read shards at the same time.",
                    "Use profile.trace_updates"}}}),
      Number("profile.trace_updates", c.profile.trace_updates, 0, kMany,
             "Number of updates of which trace.json, for ui.perfetto.dev or chrome://tracing, "
             "records a timeline of every thread and CUDA stream. 0: no trace.",
             {.may_change = true}),
      Number("profile.trace_from", c.profile.trace_from, 0, kMany, "First update to trace.",
             {.may_change = true,
              .is_used = Traces,
              .why_unused = "profile.trace_updates is 0, so no update is traced"}),

      {"device",
       "Device that trains and evaluates the network. auto: the first GPU, or the CPU if there is "
       "none.",
       TextField{&c.device, "auto, cpu, cuda or cuda:N", &IsDeviceName},
       {.may_change = true, .is_of_machine = true}},
      Choose("backend", c.backend, kBackendKinds,
             "How training and inference compute. The choices differ by rounding. cpu evaluates "
             "only the children that a label or a search needs.",
             {.may_change = true, .is_in_sets = IsLabelledByFasterBackend}),
      Number("seed", c.seed, 0, INT64_MAX, "Seed of every random number of the run.",
             {.is_in_sets = IsAlways, .is_in_streams = true}),
  };
  if (const DomainParameter* parameter = ParameterOf(c.domain.name); parameter != nullptr) {
    fields.insert(fields.begin() + 1,
                  {"domain." + parameter->key,
                   parameter->meaning,
                   ArgumentField{&c.domain.argument, c.domain.name, *parameter},
                   // The file may have moved. Its rules must be the same (Checkpoint::CheckDomain).
                   {.may_change = parameter->key == "file"}});
    if (parameter->has_pieces) {
      static constexpr auto kInputs =
          std::to_array<Choice<bool>>({{false, "stickers"}, {true, "pieces"}});
      fields.insert(fields.begin() + 2,
                    Choose("domain.input", c.domain.pieces, kInputs,
                           "the network's input: the label at each position, or the piece in each "
                           "place of several positions that always move together"));
    }
  }
  return fields;
}

std::optional<Field> FindField(Config& config, std::string_view key) {
  for (Field& field : FieldsOf(config)) {
    if (field.key == key) return std::move(field);
  }
  return std::nullopt;
}

}  // namespace tandem
