// The choices that a config makes by name. To add a choice, add a value to its enum and a row to
// the table below the enum: reading, writing, error messages and the documentation follow from the
// row.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tandem {

/// `Choice` is one value of a key: how the code calls it, how a config calls it, and its meaning
/// for the reference. A name that needs no explanation has an empty meaning. Neighbours with the
/// same meaning are explained together.
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
     "trained on"},
});

/// pipeline.refresh
enum class Refresh { kLoss, kEvery, kSolveRate };
inline constexpr auto kRefreshes = std::to_array<Choice<Refresh>>({
    {Refresh::kLoss, "loss",
     "every refresh_every updates, if the mean loss of the latest update is at most loss_thresh"},
    {Refresh::kEvery, "every", "every refresh_every updates"},
    {Refresh::kSolveRate, "solve_rate",
     "when the solve rate of a validation exceeds that at the last refresh by more than "
     "refresh_margin"},
});

/// generate.target
enum class Target { kWalkLength, kValueIteration, kCappedValueIteration, kPolicy };
inline constexpr auto kTargets = std::to_array<Choice<Target>>({
    {Target::kWalkLength, "walk_length",
     "the cost of the random walk that led to the state; for a Q net, the costs of the two actions "
     "that the walk knows, its last step undone and its next step"},
    {Target::kValueIteration, "value_iteration",
     "the minimum over all actions of the action's cost plus the target network's estimate for the "
     "child"},
    {Target::kCappedValueIteration, "capped_value_iteration", "the smaller of the two"},
    {Target::kPolicy, "policy", "for head policy, the action that undoes the walk's last step"},
});

/// Returns whether labels of this kind come from a network.
constexpr bool NeedsNetwork(Target target) {
  return target == Target::kValueIteration || target == Target::kCappedValueIteration;
}

/// Returns whether every state of a random walk becomes a row, which the walk itself labels.
constexpr bool LabelsWholeWalks(Target target) { return !NeedsNetwork(target); }

/// generate.search
enum class GenerateSearch { kNone, kGreedy, kAStar };
inline constexpr auto kGenerateSearches = std::to_array<Choice<GenerateSearch>>({
    {GenerateSearch::kNone, "none", "the ends of random walks"},
    {GenerateSearch::kGreedy, "greedy",
     "the states that such a search expands when it starts from the end of a random walk"},
    {GenerateSearch::kAStar, "astar",
     "the states that such a search expands when it starts from the end of a random walk"},
});

/// network.head
enum class Head { kV, kQ, kPolicy };
inline constexpr auto kHeads = std::to_array<Choice<Head>>({
    {Head::kV, "v", "one output, the cost-to-go of the state"},
    {Head::kQ, "q", "one output per action, the action's cost plus the child's cost-to-go"},
    {Head::kPolicy, "policy",
     "one output per action, the probability that the action is the next one of a way to the goal, "
     "trained with cross-entropy"},
});

/// Returns whether rows label only some of the outputs, so that each output needs a weight.
constexpr bool LabelsSomeOutputs(Target target, Head head) {
  return target == Target::kWalkLength && head == Head::kQ;
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
enum class Activation { kRelu, kLeakyRelu, kSilu };
inline constexpr auto kActivations = std::to_array<Choice<Activation>>({
    {Activation::kRelu, "relu"},
    {Activation::kLeakyRelu, "leaky_relu", "x, or 0.01 x if x is negative"},
    {Activation::kSilu, "silu", "x times its logistic sigmoid"},
});

/// network.input_layer
enum class InputLayer { kHidden, kLinear };
inline constexpr auto kInputLayers = std::to_array<Choice<InputLayer>>({
    {InputLayer::kHidden, "hidden", "normalised and activated, as every hidden layer"},
    {InputLayer::kLinear, "linear", "neither, as in the networks of DeepXube"},
});

/// optimizer.name
enum class OptimizerKind { kAdam, kAdamW, kSgd, kMuon };
inline constexpr auto kOptimizers = std::to_array<Choice<OptimizerKind>>({
    {OptimizerKind::kAdam, "adam", "Adam, with weight decay added to the gradient"},
    {OptimizerKind::kAdamW, "adamw", "Adam with decoupled weight decay"},
    {OptimizerKind::kSgd, "sgd", "stochastic gradient descent with momentum"},
    {OptimizerKind::kMuon, "muon",
     "orthogonalised momentum for the weights of all linear layers except the first and the last, "
     "AdamW for all other parameters"},
});

/// optimizer.schedule
enum class Schedule { kConstant, kLinear, kCosine, kExponential, kStep, kWsd };
inline constexpr auto kSchedules = std::to_array<Choice<Schedule>>({
    {Schedule::kConstant, "constant", "no change"},
    {Schedule::kLinear, "linear", "decrease to final_learning_rate at the last iteration"},
    {Schedule::kCosine, "cosine", "decrease to final_learning_rate at the last iteration"},
    {Schedule::kExponential, "exponential", "multiply by decay after every iteration"},
    {Schedule::kStep, "step", "multiply by step_factor after every step_every updates"},
    {Schedule::kWsd, "wsd",
     "no change, then a linear decrease to final_learning_rate over the last decay_share of the "
     "run"},
});

/// Returns whether the learning rate ends at optimizer.final_learning_rate, so that it depends on
/// the number of updates.
constexpr bool DependsOnLength(Schedule schedule) {
  return schedule == Schedule::kLinear || schedule == Schedule::kCosine ||
         schedule == Schedule::kWsd;
}

/// train.loss
enum class Loss { kSquared, kHuber, kLogCosh };
inline constexpr auto kLosses = std::to_array<Choice<Loss>>({
    {Loss::kSquared, "squared", "squared error"},
    {Loss::kHuber, "huber", "squared for errors up to huber_delta, linear above"},
    {Loss::kLogCosh, "log_cosh",
     "log(cosh(error)), which is about half the squared error for small errors and linear for "
     "large "
     "ones"},
});

/// train.ema_use
enum class EmaUse { kSaved, kTarget, kBoth };
inline constexpr auto kEmaUses = std::to_array<Choice<EmaUse>>({
    {EmaUse::kSaved, "saved", "validate and save the averaged network"},
    {EmaUse::kTarget, "target", "copy the averaged network to the target network"},
    {EmaUse::kBoth, "both", "do both"},
});

/// train.precision, inference.precision
enum class Precision { kAuto, kFp32, kBf16 };
inline constexpr auto kPrecisions = std::to_array<Choice<Precision>>({
    {Precision::kAuto, "auto", "bf16 where it is fast, otherwise fp32"},
    {Precision::kFp32, "fp32"},
    {Precision::kBf16, "bf16"},
});

/// search.method
enum class SearchMethod { kBeam, kAnytimeBeam, kAStar };
inline constexpr auto kSearchMethods = std::to_array<Choice<SearchMethod>>({
    {SearchMethod::kBeam, "beam", "beam search"},
    {SearchMethod::kAnytimeBeam, "anytime_beam",
     "beam search with wider and wider beams while max_seconds lasts"},
    {SearchMethod::kAStar, "astar", "batched weighted A*"},
});

/// data.source
enum class DataSource { kLive, kShards };
inline constexpr auto kDataSources = std::to_array<Choice<DataSource>>({
    {DataSource::kLive, "live", "generate examples during the run"},
    {DataSource::kShards, "shards", "read examples from files that `tandem generate` wrote"},
});

/// data.on_damage
enum class OnDamage { kStop, kSkip };
inline constexpr auto kOnDamage = std::to_array<Choice<OnDamage>>({
    {OnDamage::kStop, "stop", "end the run"},
    {OnDamage::kSkip, "skip", "leave the chunk out and count it"},
});

/// data.reading
enum class ChunkReading { kRead, kMap };
inline constexpr auto kChunkReadings = std::to_array<Choice<ChunkReading>>({
    {ChunkReading::kRead, "read", "read chunks into memory"},
    {ChunkReading::kMap, "map",
     "map the file into memory and copy chunks from the mapping, which requires uncompressed "
     "shards"},
});

/// validation.best_by
enum class Measure { kSolveRate, kValueError };
inline constexpr auto kMeasures = std::to_array<Choice<Measure>>({
    {Measure::kSolveRate, "solve_rate", "the highest share of states that greedy descent solves"},
    {Measure::kValueError, "value_error", "the lowest error of the estimates"},
});

/// validation.metrics
enum class MetricsPlace { kCpu, kDevice };
inline constexpr auto kMetricsPlaces = std::to_array<Choice<MetricsPlace>>({
    {MetricsPlace::kCpu, "cpu", "copy every estimate to the host and sum there"},
    {MetricsPlace::kDevice, "device", "sum on the device and copy only the sums"},
});

}  // namespace tandem
