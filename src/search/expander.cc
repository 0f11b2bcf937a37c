#include "search/expander.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/fault_point.h"
#include "base/parallel.h"
#include "base/timeline.h"
#include "search/ball.h"
#include "tandem/error.h"
#include "tandem/permutation.h"

namespace tandem {
namespace {

constexpr std::size_t kGrain = 256;  // states per TBB task

// The number of parents whose children ExpandHashes makes at a time. Children of 16 cubes take
// 10 KiB, a third of a small first-level cache.
constexpr std::size_t kParentsInCache = 16;

}  // namespace

std::uint64_t HashState(std::span<const std::uint8_t> state) {
  return XXH3_64bits(state.data(), state.size());
}

Expander::Expander(const Domain& domain, Evaluator& evaluator, std::size_t evaluate_rows,
                   std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      evaluator_(evaluator),
      evaluate_rows_(evaluate_rows),
      known_(domain, std::move(ball)),
      least_rest_(std::max(known_.least_unknown(), LeastCost(domain.spec()))),
      permutes_(dynamic_cast<const PermutationDomain*>(&domain) != nullptr),
      skips_known_(evaluator.rows_are_independent()) {}

std::int64_t Expander::BytesFor(const DomainSpec& spec, std::int64_t states) {
  constexpr std::int64_t kIsGoalAndLeftOut = 2;
  return states * static_cast<std::int64_t>(spec.num_actions()) *
         (spec.state_size + kIsGoalAndLeftOut + static_cast<std::int64_t>(sizeof(std::uint64_t)));
}

void Expander::Expand(ConstRows states) {
  ResizeChildren(states.size() * domain_.spec().num_actions(), /*with_states=*/true);
  ForRanges(states.size(), kGrain, [&](std::size_t first, std::size_t count) {
    MakeChildren(states.Slice(first, count), first, ChildrenOf(first, count));
  });
}

void Expander::ExpandHashes(ConstRows states, std::span<const Action> undoing) {
  const auto undoing_of = [&](std::size_t first, std::size_t count) {
    return undoing.empty() ? undoing : undoing.subspan(first, count);
  };
  ResizeChildren(states.size() * domain_.spec().num_actions(), /*with_states=*/!permutes_);
  if (!permutes_) {
    ForRanges(states.size(), kGrain, [&](std::size_t first, std::size_t count) {
      MakeChildren(states.Slice(first, count), first, ChildrenOf(first, count),
                   undoing_of(first, count));
    });
    return;
  }
  parents_ = states;
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  ForRanges(states.size(), kGrain, [&](std::size_t begin, std::size_t size) {
    std::vector<std::uint8_t> memory(kParentsInCache * num_actions * states.row_size());
    for (std::size_t first = begin; first < begin + size; first += kParentsInCache) {
      const std::size_t count = std::min(kParentsInCache, begin + size - first);
      MakeChildren(states.Slice(first, count), first,
                   Rows(memory.data(), count * num_actions, states.row_size()),
                   undoing_of(first, count));
    }
  });
}

std::int64_t Expander::num_generated() const {
  return std::ranges::count(is_left_out_, std::uint8_t{0});
}

ConstRows Expander::Build(std::span<const std::uint32_t> chosen,
                          std::vector<std::uint8_t>& into) const {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  into.resize(chosen.size() * state_size);
  const Rows rows(into.data(), chosen.size(), state_size);
  ForRanges(chosen.size(), kGrain, [&](std::size_t first, std::size_t count) {
    std::vector<Action> actions;
    for (std::size_t i = first; i < first + count; ++i) {
      const std::size_t child = chosen[i];
      std::ranges::copy(parents_ ? (*parents_)[child / num_actions] : children()[child],
                        rows[i].begin());
      if (parents_) actions.push_back(static_cast<Action>(child % num_actions));
    }
    if (parents_) domain_.Apply(rows.Slice(first, count), actions);
  });
  return rows;
}

void Expander::Resize(std::size_t states) {
  ResizeChildren(states * domain_.spec().num_actions(), /*with_states=*/true);
  inputs_.resize(size() * domain_.spec().input.positions);
  values_.resize(size());
  if (skips_known_) is_needed_.resize(size());
}

void Expander::ExpandRange(ConstRows states, std::size_t first) {
  FaultPoint(Fault::kSimulator);
  {
    const Span span(Phase::kExpand);
    MakeChildren(states, first, ChildrenOf(first, states.size()));
  }
  const Span span(Phase::kWrite);
  const std::size_t num_actions = domain_.spec().num_actions();
  const std::size_t input_size = domain_.spec().input.positions;
  const std::size_t first_child = first * num_actions;
  const std::size_t count = states.size() * num_actions;
  domain_.Encode(children().Slice(first_child, count),
                 Rows(inputs_.data() + first_child * input_size, count, input_size));
  if (!skips_known_) return;
  for (std::size_t child = first_child; child < first_child + count; ++child) {
    is_needed_[child] = is_goal_[child] != 0 ? 0 : 1;
    values_[child] = 0;
  }
}

void Expander::SetEstimate(std::size_t child, float estimate) {
  is_needed_[child] = 0;
  values_[child] = estimate;
}

void Expander::ResizeChildren(std::size_t num_children, bool with_states) {
  parents_.reset();
  if (with_states) children_.resize(num_children * domain_.spec().state_size);
  is_goal_.resize(num_children);
  is_left_out_.resize(num_children);
  hashes_.resize(num_children);
  if (known_.ball() != nullptr) known_costs_.resize(num_children);
}

// The memory for the children of states first, first + 1, ...
Rows Expander::ChildrenOf(std::size_t first, std::size_t states) {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  return {children_.data() + first * num_actions * state_size, states * num_actions, state_size};
}

// Makes the children of `states`, which are states first, first + 1, ... of the batch, and all that
// is kept about them.
void Expander::MakeChildren(ConstRows states, std::size_t first, Rows children,
                            std::span<const Action> undoing) {
  const std::size_t num_actions = domain_.spec().num_actions();
  const std::size_t state_size = states.row_size();
  const std::size_t first_child = first * num_actions;
  domain_.Expand(states, children);
  domain_.IsGoal(children, std::span(is_goal_).subspan(first_child, children.size()));
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::uint8_t* parent = states[i / num_actions].data();
    const bool undoes = !undoing.empty() && i % num_actions == undoing[i / num_actions];
    const bool left_out = undoes || std::memcmp(children[i].data(), parent, state_size) == 0;
    is_left_out_[first_child + i] = left_out ? 1 : 0;
    if (!left_out || skips_known_) hashes_[first_child + i] = HashState(children[i]);
  }
  NoteKnownCosts(first_child, children);
}

void Expander::NoteKnownCosts(std::size_t first_child, ConstRows children) {
  if (known_.ball() == nullptr) return;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::size_t child = first_child + i;
    known_costs_[child] = is_left_out_[child] != 0
                              ? std::numeric_limits<float>::infinity()
                              : known_.CostOf(children[i], hashes_[child], is_goal_[child] != 0);
  }
}

void Expander::KeepBest(std::span<const float> values, std::size_t most) {
  const auto num_actions = static_cast<std::size_t>(domain_.spec().num_actions());
  ForRanges(size() / num_actions, kGrain, [&](std::size_t first, std::size_t count) {
    std::vector<std::pair<float, std::size_t>> ranked;
    for (std::size_t state = first; state < first + count; ++state) {
      ranked.clear();
      for (std::size_t child = state * num_actions; child < (state + 1) * num_actions; ++child) {
        if (is_left_out_[child] != 0 || !std::isinf(KnownCost(child))) continue;
        ranked.emplace_back(values[child], child);
      }
      if (ranked.size() <= most) continue;
      const auto others = ranked.begin() + static_cast<std::ptrdiff_t>(most);
      std::ranges::nth_element(ranked, others);
      for (auto at = others; at != ranked.end(); ++at) is_left_out_[at->second] = 1;
    }
  });
}

void Expander::Step(ConstRows states, std::span<const Action> actions) {
  ResizeChildren(states.size(), /*with_states=*/true);
  ForRanges(states.size(), kGrain, [&](std::size_t first, std::size_t count) {
    const Rows children(children_.data() + first * states.row_size(), count, states.row_size());
    std::ranges::copy(states.Slice(first, count).bytes(), children.bytes().begin());
    domain_.Apply(children, actions.subspan(first, count));
    domain_.IsGoal(children, std::span(is_goal_).subspan(first, count));
    for (std::size_t i = 0; i < count; ++i) {
      is_left_out_[first + i] = std::ranges::equal(children[i], states[first + i]) ? 1 : 0;
      hashes_[first + i] = HashState(children[i]);
    }
    NoteKnownCosts(first, children);
  });
}

std::vector<Action> Expander::PathToGoal(std::size_t child) const {
  if (known_.ball() == nullptr) return {};
  const auto chosen = static_cast<std::uint32_t>(child);
  std::vector<std::uint8_t> state;
  return known_.ball()->PathToGoal(Build({&chosen, 1}, state)[0]);
}

// Every comparison with NaN is false, so min and max would drop it silently.
template <class StateOf>
void Expander::RejectNan(std::size_t width, const StateOf& state_of) const {
  const auto found = std::ranges::find_if(values_, [](float value) { return std::isnan(value); });
  if (found == values_.end()) return;
  const auto i = static_cast<std::size_t>(found - values_.begin());
  throw NanEstimate(domain_, state_of(i / width));
}

Error NanEstimate(const Domain& domain, std::span<const std::uint8_t> state) {
  Error error(fmt::format(
      "the network's estimate of the {} state {} is not a number (NaN), expected a number. Its "
      "training diverged or its weights are damaged. Use an earlier checkpoint, or train with a "
      "lower optimizer.learning_rate.",
      domain.spec().name, domain.FormatState(state)));
  return error;
}

// Works in slices so that a stop takes effect quickly and the inputs stay in cache.
template <class StateOf, class EncodeRange, class Evaluate>
std::span<const float> Expander::InSlices(std::size_t rows, std::size_t width,
                                          const StopSignal& stop, const StateOf& state_of,
                                          const EncodeRange& encode, const Evaluate& evaluate) {
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  values_.resize(rows * width);
  for (std::size_t first = 0; first < rows; first += evaluate_rows_) {
    if (stop.Reached()) throw Stopped();
    const std::size_t slice = std::min(evaluate_rows_, rows - first);
    inputs_.resize(slice * input_size);
    const Rows inputs(inputs_.data(), slice, input_size);
    ForRanges(slice, kGrain, [&](std::size_t begin, std::size_t count) {
      encode(first + begin, inputs.Slice(begin, count));
    });
    evaluate(inputs, std::span(values_).subspan(first * width, slice * width));
  }
  RejectNan(width, state_of);
  return values_;
}

std::span<const float> Expander::Estimate(ConstRows states, std::span<const std::uint32_t> chosen,
                                          const StopSignal& stop) {
  const auto state_of = [&](std::size_t i) { return states[chosen[i]]; };
  return InSlices(
      chosen.size(), 1, stop, state_of,
      [&](std::size_t first, Rows inputs) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          domain_.Encode(ConstRows(state_of(first + i)), inputs.Slice(i, 1));
        }
      },
      [&](ConstRows inputs, std::span<float> values) { evaluator_.Evaluate(inputs, values); });
}

std::span<const float> Expander::Estimate(ConstRows states, const StopSignal& stop) {
  return InSlices(
      states.size(), 1, stop, [&](std::size_t i) { return states[i]; },
      [&](std::size_t first, Rows inputs) {
        domain_.Encode(states.Slice(first, inputs.size()), inputs);
      },
      [&](ConstRows inputs, std::span<float> values) { evaluator_.Evaluate(inputs, values); });
}

std::span<const float> Expander::EstimateActions(QEvaluator& q_or_policy, ConstRows states,
                                                 const StopSignal& stop) {
  return InSlices(
      states.size(), static_cast<std::size_t>(domain_.spec().num_actions()), stop,
      [&](std::size_t i) { return states[i]; },
      [&](std::size_t first, Rows inputs) {
        domain_.Encode(states.Slice(first, inputs.size()), inputs);
      },
      [&](ConstRows inputs, std::span<float> values) {
        q_or_policy.EvaluateActions(inputs, values);
      });
}

void Expander::EstimateAll() {
  if (size() == 0) return;
  const Span span(Phase::kEvaluate);
  if (skips_known_) {
    EstimateNeeded();
  } else {
    evaluator_.Evaluate(InputsOf(0, size()), values_);
  }
  RejectNan(1, [&](std::size_t child) { return children()[child]; });
}

// The encodings of children of Resize.
ConstRows Expander::InputsOf(std::size_t first, std::size_t count) const {
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  return {inputs_.data() + first * input_size, count, input_size};
}

void Expander::EstimateNeeded() {
  FindNeeded();
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  evaluated_inputs_.resize(evaluated_.size() * input_size);
  evaluated_values_.resize(evaluated_.size());
  const Rows inputs(evaluated_inputs_.data(), evaluated_.size(), input_size);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(InputsOf(evaluated_[i], 1)[0], inputs[i].begin());
  }
  if (!evaluated_.empty()) evaluator_.Evaluate(inputs, evaluated_values_);
  for (std::size_t child = 0; child < size(); ++child) {
    if (is_needed_[child] != 0) values_[child] = evaluated_values_[place_[child]];
  }
}

// Finds the needed children that differ from each other. Repeats are compared by all their bytes.
void Expander::FindNeeded() {
  constexpr std::uint32_t kEmpty = UINT32_MAX;
  evaluated_.clear();
  place_.resize(size());
  slots_.assign(std::bit_ceil(2 * size()), kEmpty);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t child = 0; child < size(); ++child) {
    if (is_needed_[child] == 0) continue;
    for (std::size_t slot = hashes_[child] & mask;; slot = (slot + 1) & mask) {
      if (slots_[slot] == kEmpty) {
        slots_[slot] = static_cast<std::uint32_t>(evaluated_.size());
        evaluated_.push_back(static_cast<std::uint32_t>(child));
      }
      place_[child] = slots_[slot];
      const std::uint32_t other = evaluated_[place_[child]];
      if (other == child || (hashes_[other] == hashes_[child] &&
                             std::ranges::equal(InputsOf(other, 1)[0], InputsOf(child, 1)[0]))) {
        break;
      }
    }
  }
}

void NoNetwork::Evaluate(ConstRows /*inputs*/, std::span<float> /*values*/) {
  throw Error("a search without a network asked for an estimate: a bug");
}

float LeastCost(const DomainSpec& spec) { return *std::ranges::min_element(spec.action_costs); }

bool CostsDiffer(const DomainSpec& spec) {
  return LeastCost(spec) < std::ranges::max(spec.action_costs);
}

float CostBelow(const DomainSpec& spec, float cost) {
  constexpr float kLess = 1 - 1e-4F;  // more than the rounding that CostBound allows for
  return CostsDiffer(spec) ? cost * kLess : cost - LeastCost(spec);
}

std::optional<Action> GreedyAction(const DomainSpec& spec, std::span<const Action> actions,
                                   std::span<const float> estimates) {
  const float least_cost = LeastCost(spec);
  return BestAction(actions, [&](Action action) {
    return spec.action_costs[action] - least_cost + estimates[action];
  });
}

}  // namespace tandem
