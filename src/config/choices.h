// The choices that a config makes by name. To add a choice, add a value to its enum and a row to
// the table below it; reading, writing, messages and the reference of keys follow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

/// Choice is one value of a key: how the code calls it, how a config calls it, and its meaning for
/// the reference, if the name needs one. Neighbours with the same meaning are explained together.
template <class Value>
struct Choice {
  Value value;
  std::string_view name;
  std::string_view meaning = {};
};

/// Returns the name of `value` in its table.
template <class Value, std::size_t kNumber>
constexpr std::string_view NameOf(const std::array<Choice<Value>, kNumber>& choices, Value value) {
  for (const Choice<Value>& choice : choices) {
    if (choice.value == value) return choice.name;
  }
  return {};
}

/// pipeline.mode
enum class Mode { kAsync, kSequential, kSyncMain };
inline constexpr auto kModes = std::to_array<Choice<Mode>>({
    {Mode::kAsync, "async", "generate the next buffer while training on the current one"},
    {Mode::kSequential, "sequential", "generate, then train"},
    {Mode::kSyncMain, "sync_main",
     "the network being trained guides the searches, and rows are labelled just before they are "
     "trained on; or it plays the games, which label their rows"},
});

/// Returns whether rows stay unlabelled until they are trained on, unless they are of games.
constexpr bool LabelsWhenTraining(Mode mode) { return mode == Mode::kSyncMain; }

/// Returns what pipeline.policy_lag is for `auto`.
constexpr int DefaultLag(Mode mode) { return mode == Mode::kAsync ? 1 : 0; }

/// generate.program, search.program
enum class Program { kDomain, kTensor };
inline constexpr auto kPrograms = std::to_array<Choice<Program>>({
    {Program::kDomain, "domain", "the puzzle's own code, on the CPU"},
    {Program::kTensor, "tensor",
     "tensor operations on `device`, for puzzles whose actions are permutations"},
});

/// generate.target
enum class Target {
  kWalkLength,
  kValueIteration,
  kCappedValueIteration,
  kPolicy,
  kQLearning,
  kCappedQLearning,
  kOwnSolutions,
  kRetrograde,
  kSelfPlay
};
inline constexpr auto kTargets = std::to_array<Choice<Target>>({
    {Target::kWalkLength, "walk_length",
     "the cost of the random walk that led to the state; for a Q net, the costs of the actions "
     "that the walk knows: its last step undone, its next step and those that do not apply (head "
     "q_in: of one of them); for head vp, also the action that undoes the walk's last step"},
    {Target::kValueIteration, "value_iteration",
     "the minimum over all actions of the action's cost plus the target network's estimate for the "
     "child; for a Q net, that sum of each action (head q_in: of one action, drawn at random)"},
    {Target::kCappedValueIteration, "capped_value_iteration",
     "the smaller of walk_length and value_iteration"},
    {Target::kPolicy, "policy", "for head policy, the action that undoes the walk's last step"},
    {Target::kQLearning, "q_learning",
     "for head q or q_in, one action of the state, drawn at random: the action's cost plus the "
     "least value that the target network gives to an action of the child. A row takes one "
     "evaluation of the target network, where value_iteration takes one for each action and labels "
     "them all. q_learning is the better choice if generation takes longer than training, and "
     "value_iteration if training takes longer or searches generate the states"},
    {Target::kCappedQLearning, "capped_q_learning",
     "the label of q_learning, but at most the cost of the action and of the one that undoes it, "
     "plus the cost of the random walk's way back"},
    {Target::kOwnSolutions, "own_solutions",
     "labels from solutions that a search with the target network finds (generate.search: greedy "
     "or beam): the remaining cost of the solution, which a Q net learns for its next action; for "
     "a policy, that action (where actions commute, all that remain). If a search finds none that "
     "costs at most as much as its random walk, the walk labels the states"},
    {Target::kRetrograde, "retrograde",
     "for head v and puzzles whose goals differ by problem, the exact cost-to-go of a state of a "
     "random problem, whose states are all found by a search backwards from its goals; for a state "
     "from which no goal can be reached, generate.dead_end_cost"},
    {Target::kSelfPlay, "self_play",
     "for head vp and games of two players, positions of games that the target network plays "
     "against itself with a search (generate.game_search): the policy that the search improved, "
     "and as the cost 1 minus the mean of the game's result and the search's value of the "
     "position, for the player whose turn it is"},
});

/// TargetTraits says where the labels of a target come from and what the target works with. A
/// config that asks for more is refused, so a new target begins with nothing but its name.
struct TargetTraits {
  bool needs_network = false;   ///< a network labels rows
  bool backs_up = false;        ///< labels are sums of costs and a network's estimates
  bool labels_actions = false;  ///< for head q, a row labels only some of the actions
  bool is_q_learning = false;   ///< a row labels one action by Q-learning
  bool is_of_walks = false;     ///< consecutive rows are states of a random walk, all or some of
                                ///< them, which the walk itself labels unless a search knows better
  bool rows_per_walk = false;   ///< as many states of each walk as generate.rows_per_walk says
  bool labels_policies = false;    ///< network.head policy
  bool fits_action_heads = false;  ///< network.head q, q_in and vp, which learn about actions
  bool follows_search = false;     ///< generate.search
  bool in_sync_main = false;       ///< StoredStateLabeller labels the states that sync_main keeps
  bool takes_ball = false;         ///< generate.ball_radius
  bool by_tensors = false;         ///< generate.program tensor
};

constexpr TargetTraits TraitsOf(Target target) {
  switch (target) {
    case Target::kWalkLength:
      return {.labels_actions = true,
              .is_of_walks = true,
              .rows_per_walk = true,
              .fits_action_heads = true,
              .takes_ball = true,
              .by_tensors = true};
    case Target::kValueIteration:
    case Target::kCappedValueIteration:
      return {.needs_network = true,
              .backs_up = true,
              .fits_action_heads = true,
              .follows_search = true,
              .in_sync_main = true,
              .takes_ball = true,
              .by_tensors = true};
    case Target::kPolicy:
      return {.is_of_walks = true,
              .rows_per_walk = true,
              .labels_policies = true,
              .fits_action_heads = true,
              .takes_ball = true};
    case Target::kQLearning:
    case Target::kCappedQLearning:
      return {.needs_network = true,
              .backs_up = true,
              .labels_actions = true,
              .is_q_learning = true,
              .fits_action_heads = true,
              .takes_ball = true};
    case Target::kOwnSolutions:
      return {.needs_network = true,
              .labels_actions = true,
              .is_of_walks = true,
              .labels_policies = true,
              .fits_action_heads = true,
              .follows_search = true};
    case Target::kSelfPlay:
      return {.needs_network = true, .fits_action_heads = true};
    case Target::kRetrograde:
      break;
  }
  return {};
}

// Short forms of traits that much code asks for.
constexpr bool IsQLearning(Target target) { return TraitsOf(target).is_q_learning; }
constexpr bool BacksUpEstimates(Target target) { return TraitsOf(target).backs_up; }
constexpr bool NeedsNetwork(Target target) { return TraitsOf(target).needs_network; }
constexpr bool UsesRowsPerWalk(Target target) { return TraitsOf(target).rows_per_walk; }
constexpr bool LabelsWalks(Target target) { return TraitsOf(target).is_of_walks; }

/// generate.game_search
enum class GameSearch { kGumbel, kPuct };
inline constexpr auto kGameSearches = std::to_array<Choice<GameSearch>>({
    {GameSearch::kGumbel, "gumbel",
     "sequential halving among sampled moves, and completed Q values (Gumbel AlphaZero), which "
     "learns from few simulations"},
    {GameSearch::kPuct, "puct", "the rule of AlphaZero, with Dirichlet noise at the root"},
});

/// generate.search
enum class GenerateSearch { kNone, kGreedy, kBeam, kAStar };
inline constexpr auto kGenerateSearches = std::to_array<Choice<GenerateSearch>>({
    {GenerateSearch::kNone, "none", "the ends of random walks"},
    {GenerateSearch::kGreedy, "greedy",
     "the states that such a search expands when it starts from the end of a random walk"},
    {GenerateSearch::kBeam, "beam",
     "the states that such a search expands when it starts from the end of a random walk"},
    {GenerateSearch::kAStar, "astar",
     "the states that such a search expands when it starts from the end of a random walk"},
});

/// generate.backup
enum class Backup { kOneStep, kLhbl, kUbSoln };
inline constexpr auto kBackups = std::to_array<Choice<Backup>>({
    {Backup::kOneStep, "one_step", "the backup of the state's own children"},
    {Backup::kLhbl, "lhbl",
     "the backup over all states that the search expanded; only children that it did not expand "
     "count with their estimates"},
    {Backup::kUbSoln, "ubsoln",
     "if the search reached a goal, at most the cost of its solution from the state on; otherwise "
     "the same as one_step"},
});

/// network.kind: the networks that come with Tandem. Each registers itself under its name
/// (nn/network.h). Programs can register more, so a kind is a name and not an enum value.
struct NetworkKindRow {
  std::string_view name, meaning;
};
inline constexpr std::string_view kResNetFc = "resnet_fc";
inline constexpr std::string_view kResNet2d = "resnet_2d";
inline constexpr std::string_view kMlp = "mlp";
inline constexpr auto kNetworkKinds = std::to_array<NetworkKindRow>({
    {kResNetFc, "residual blocks of linear layers, for every puzzle"},
    {kResNet2d,
     "residual blocks of 3x3 convolutions, then a hidden linear layer, for puzzles on a board"},
    {kMlp, "plain hidden layers without residual connections, for every puzzle"},
});

/// Returns whether all layers of such a network are linear layers, which every backend supports.
constexpr bool IsFullyConnected(std::string_view kind) { return kind == kResNetFc || kind == kMlp; }

/// network.head
enum class Head { kV, kQ, kPolicy, kVp, kQIn };
inline constexpr auto kHeads = std::to_array<Choice<Head>>({
    {Head::kV, "v", "one output, the cost-to-go of the state"},
    {Head::kQ, "q", "one output per action, the action's cost plus the child's cost-to-go"},
    {Head::kPolicy, "policy",
     "one output per action, the probability that the action is the next one of a way to the goal, "
     "trained with cross-entropy"},
    {Head::kVp, "vp",
     "value and policy: the cost-to-go of the state, and one output per action as for policy. "
     "Greedy descent, A* and beam search use the cost-to-go; beam search adds the policy with "
     "search.policy_weight"},
    {Head::kQIn, "q_in",
     "the value of an action as for q, but the action is part of the input and there is one "
     "output. A row labels one action. A state is evaluated once with each action"},
});

/// HeadTraits says what a network takes and what its outputs mean. Outputs that are costs come
/// first, those of a policy last.
struct HeadTraits {
  std::string_view network;     ///< what messages call a network with this head
  bool values_states = false;   ///< an output is the state's cost-to-go
  bool values_actions = false;  ///< outputs are costs of actions, each with its child's cost-to-go
  bool has_policy = false;      ///< outputs are the logits of a policy, one for each action
  bool takes_action = false;    ///< the input has an action after the state, and there is one
                                ///< output, which is about this action

  /// Whether there is a cost of each action, so that a row can label some of them.
  constexpr bool values_all_actions() const { return values_actions && !takes_action; }

  /// The number of outputs for a puzzle with `num_actions` actions.
  constexpr std::size_t num_outputs(std::size_t num_actions) const {
    const bool has_one_cost = values_states || takes_action;
    const bool has_actions = values_all_actions() || has_policy;
    return (has_one_cost ? 1 : 0) + (has_actions ? num_actions : 0);
  }

  /// How many of `outputs` outputs are costs. The others are the logits of a policy.
  constexpr std::int64_t num_costs(std::int64_t outputs) const {
    if (!has_policy) return outputs;
    return values_states ? 1 : 0;
  }
};

constexpr HeadTraits TraitsOf(Head head) {
  switch (head) {
    case Head::kV:
      return {.network = "V net", .values_states = true};
    case Head::kQ:
      return {.network = "Q net", .values_actions = true};
    case Head::kPolicy:
      return {.network = "policy", .has_policy = true};
    case Head::kVp:
      return {.network = "value and policy net", .values_states = true, .has_policy = true};
    case Head::kQIn:
      return {.network = "Q net with the action as input,",
              .values_actions = true,
              .takes_action = true};
  }
  return {};  // not reached: the compiler warns of a missing case
}

// Code that writes labels and reads outputs takes costs of actions to be the only outputs.
static_assert(std::ranges::none_of(kHeads, [](const Choice<Head>& head) {
  const HeadTraits traits = TraitsOf(head.value);
  return traits.values_actions && (traits.values_states || traits.has_policy);
}));

// Short forms of traits that much code asks for.
constexpr bool IsQ(Head head) { return TraitsOf(head).values_actions; }
constexpr bool TakesAction(Head head) { return TraitsOf(head).takes_action; }
constexpr bool HasPolicy(Head head) { return TraitsOf(head).has_policy; }
constexpr bool ValuesStates(Head head) { return TraitsOf(head).values_states; }

/// Returns whether a network with this head estimates costs-to-go, as all but a policy do.
constexpr bool EstimatesCosts(Head head) { return ValuesStates(head) || IsQ(head); }

/// Returns whether a network with this head ranks the actions of a state, by cost or by policy.
constexpr bool RanksActions(Head head) { return IsQ(head) || HasPolicy(head); }

/// Returns whether rows label only some of the outputs, so that each output needs a weight.
constexpr bool LabelsSomeOutputs(Target target, Head head) {
  return TraitsOf(head).values_all_actions() && TraitsOf(target).labels_actions;
}

/// network.norm
enum class Norm { kNone, kBatch, kLayer, kRms };
inline constexpr auto kNorms = std::to_array<Choice<Norm>>({
    {Norm::kNone, "none"},
    {Norm::kBatch, "batch"},
    {Norm::kLayer, "layer"},
    {Norm::kRms, "rms", "layer normalisation that does not subtract the mean (RMSNorm)"},
});

/// network.activation
enum class Activation { kRelu, kLeakyRelu };
inline constexpr auto kActivations = std::to_array<Choice<Activation>>({
    {Activation::kRelu, "relu"},
    {Activation::kLeakyRelu, "leaky_relu", "x, or 0.01 x if x is negative"},
});

/// The slope of leaky_relu below 0.
inline constexpr double kLeakySlope = 0.01;

/// network.input_layer
enum class InputLayer { kHidden, kLinear };
inline constexpr auto kInputLayers = std::to_array<Choice<InputLayer>>({
    {InputLayer::kHidden, "hidden", "normalised and activated, like every hidden layer"},
    {InputLayer::kLinear, "linear",
     "neither normalised nor activated, as in the networks of DeepXube"},
});

/// optimizer.schedule
enum class Schedule { kConstant, kLinear, kExponential };
inline constexpr auto kSchedules = std::to_array<Choice<Schedule>>({
    {Schedule::kConstant, "constant", "no change"},
    {Schedule::kLinear, "linear", "decrease to final_learning_rate at the last iteration"},
    {Schedule::kExponential, "exponential", "multiply by decay after every iteration"},
});

/// Returns whether the learning rate ends at optimizer.final_learning_rate, so that it depends on
/// the number of updates.
constexpr bool DependsOnLength(Schedule schedule) { return schedule == Schedule::kLinear; }

/// train.precision, inference.precision
enum class Precision { kAuto, kFp32, kBf16, kInt8, kFp8 };
inline constexpr auto kPrecisions = std::to_array<Choice<Precision>>({
    {Precision::kAuto, "auto", "bf16 where it is fast, otherwise fp32"},
    {Precision::kFp32, "fp32"},
    {Precision::kBf16, "bf16"},
});
inline constexpr auto kInferencePrecisions = std::to_array<Choice<Precision>>({
    kPrecisions[0],
    kPrecisions[1],
    kPrecisions[2],
    {Precision::kFp8, "fp8",
     "8-bit floats (e4m3) in the products between the first and the output layer, for widths of "
     "1000 and more on a GPU of compute capability 8.9 or more, only with backend gpu"},
    {Precision::kInt8, "int8",
     "whole numbers in the products between the first and the output layer, which stay in bf16 and "
     "fp32: twice as fast as bf16, less exact, only with backend cpu"},
});

/// backend
enum class BackendKind { kAuto, kReference, kCpu, kGpu };
inline constexpr auto kBackendKinds = std::to_array<Choice<BackendKind>>({
    {BackendKind::kAuto, "auto",
     "cpu on a CPU and gpu on a GPU where they are supported, otherwise reference; stays auto if "
     "training and inference differ in this"},
    {BackendKind::kReference, "reference", "LibTorch's operators and autograd"},
    {BackendKind::kCpu, "cpu",
     "tile by tile through the whole network and back: faster, for resnet_fc and mlp on a CPU"},
    {BackendKind::kGpu, "gpu",
     "LibTorch's products and fused passes without autograd, which a GPU repeats as one CUDA "
     "graph, "
     "including the optimizer: faster, for resnet_fc and mlp on a GPU"},
});

/// search.method
enum class SearchMethod {
  kBeam,
  kAnytimeBeam,
  kAStar,
  kQStar,
  kIdaStar,
  kGreedy,
  kBidirectionalBeam,
  kGumbel,
  kPuct
};
inline constexpr auto kSearchMethods = std::to_array<Choice<SearchMethod>>({
    {SearchMethod::kBeam, "beam", "beam search"},
    {SearchMethod::kAnytimeBeam, "anytime_beam",
     "beam search with wider and wider beams while max_seconds lasts"},
    {SearchMethod::kAStar, "astar", "batched weighted A*"},
    {SearchMethod::kQStar, "q_star",
     "A* on the values of actions, for a Q net: makes a child only when its action is taken"},
    {SearchMethod::kIdaStar, "ida_star",
     "iterative deepening A*, which stores only the states of one path"},
    {SearchMethod::kGreedy, "greedy",
     "take the best action again and again, without visiting a state twice"},
    {SearchMethod::kBidirectionalBeam, "bidirectional_beam",
     "beam search from the state and from the goal until the two meet"},
    {SearchMethod::kGumbel, "gumbel",
     "for games, the moves of both players until the end, each by search.simulations simulations "
     "with sequential halving"},
    {SearchMethod::kPuct, "puct", "for games, the same by the rule of AlphaZero"},
});

/// Returns whether the search keeps a beam. Only such a search can start from a position and its
/// inverse, and add the policy of head vp.
constexpr bool IsBeamSearch(SearchMethod method) {
  return method == SearchMethod::kBeam || method == SearchMethod::kAnytimeBeam ||
         method == SearchMethod::kBidirectionalBeam;
}

/// Returns whether the search stores all states that it meets, and expands the best of them first.
constexpr bool IsBestFirst(SearchMethod method) {
  return method == SearchMethod::kAStar || method == SearchMethod::kQStar;
}

/// Returns whether the search can follow a policy, which estimates no costs.
constexpr bool WorksWithPolicy(SearchMethod method) {
  return IsBeamSearch(method) || method == SearchMethod::kGreedy;
}

/// Returns whether the search plays games of two players, and solves no puzzles.
constexpr bool PlaysGames(SearchMethod method) {
  return method == SearchMethod::kGumbel || method == SearchMethod::kPuct;
}

/// search.inverse
enum class UseInverse { kNo, kYes, kAuto };
inline constexpr auto kUseInverse = std::to_array<Choice<UseInverse>>({
    {UseInverse::kNo, "false"},
    {UseInverse::kYes, "true"},
    {UseInverse::kAuto, "auto", "if the puzzle has inverse positions"},
});

/// data.source
enum class DataSource { kLive, kShards, kStream };
inline constexpr auto kDataSources = std::to_array<Choice<DataSource>>({
    {DataSource::kLive, "live", "generate examples during the run"},
    {DataSource::kStream, "stream",
     "read examples that `tandem generate --follow` writes during the run"},
    {DataSource::kShards, "shards", "read examples from files that `tandem generate` wrote"},
});

}  // namespace tandem
