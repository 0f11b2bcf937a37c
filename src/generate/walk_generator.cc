#include "generate/walk_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/timeline.h"
#include "domain/moves.h"
#include "generate/labels.h"
#include "tandem/error.h"

namespace tandem {

std::int64_t WalkRows::Depth(std::int64_t update, std::int64_t row) const {
  const std::int64_t part = row % rows_per_walk_;
  const std::int64_t first = part * length_ / rows_per_walk_;
  const std::int64_t end = (part + 1) * length_ / rows_per_walk_;
  if (end == first + 1) return end;  // saves drawing a number if all states are rows
  Random random(seed_, Purpose::kDepth, update, row);
  return first + 1 +
         static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(end - first)));
}

// Iterates over the prefixes that become rows, in the order of the rows.
class WalkGenerator::Prefixes {
 public:
  // Starts just before `row`: the walk that contains it is replayed from its start up to there.
  Prefixes(const WalkGenerator& generator, std::int64_t update, std::int64_t row)
      : generator_(generator),
        update_(update),
        state_(generator.domain_.spec().state_size),
        next_row_(row) {
    StartWalk();
  }

  void Next() {
    if (next_row_ % generator_.rows_.rows_per_walk() == 0) StartWalk();
    const std::int64_t depth = generator_.rows_.Depth(update_, next_row_++);
    for (; length_ < depth; ++length_) steps_->Step();
  }

  std::span<const std::uint8_t> state() const { return state_; }
  RandomWalk& walk() { return *steps_; }

 private:
  void StartWalk() {
    length_ = 0;
    const std::int64_t walk = next_row_ / generator_.rows_.rows_per_walk();
    steps_.emplace(generator_.domain_, Random(generator_.seed_, Purpose::kScramble, update_, walk),
                   state_, generator_.kind_);
  }

  const WalkGenerator& generator_;
  const std::int64_t update_;
  std::vector<std::uint8_t> state_;
  std::int64_t next_row_;
  std::int64_t length_ = 0;  // actions taken
  std::optional<RandomWalk> steps_;
};

WalkGenerator::WalkGenerator(const Domain& domain, const Config& config, WalkKind kind,
                             std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      rows_(config),
      kind_(kind),
      range_rows_(config.generate.rows_of_chunk()),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      exact_(std::move(exact)),
      arena_(static_cast<int>(*config.generate.workers)) {}

void WalkGenerator::Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) {
  FillRanges(arena_, RowRanges(request.rows, range_rows_), stop,
             [&](RowRange range) { FillRange(request, range, out); });
}

// Works in blocks, so that walking and encoding are timed separately.
void WalkGenerator::FillRange(const FillRequest& request, RowRange range, DataBuffer& out) const {
  std::vector<Action> actions;
  Prefixes prefixes(*this, request.update, request.first_row + range.first);
  FillBlocks(range, domain_.spec().state_size, [&](std::size_t first, Rows states) {
    actions.resize(states.size());
    Walk(prefixes, request, states, actions, first, out);
    if (exact_ != nullptr) PlaceAnchors(request, states, first);
    const Span span(Activity::kWrite);
    EncodeInputs(domain_, states, actions, out.column(kInputColumn).Slice(first, states.size()));
    if (exact_ != nullptr) WriteExact(states, first, out);
  });
}

// Corrects the labels of states in the ball. A goal outside would have the wrong label of its walk.
void WalkGenerator::WriteExact(ConstRows states, std::size_t first, DataBuffer& out) const {
  std::vector<std::uint8_t> is_goal(states.size());
  domain_.IsGoal(states, is_goal);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (exact_->Write(states[i], out, first + i) || is_goal[i] == 0) continue;
    RefuseSecondGoal(domain_, states[i]);
  }
}

void WalkGenerator::Walk(Prefixes& prefixes, const FillRequest& request, Rows states,
                         std::span<Action> actions, std::size_t first, DataBuffer& out) const {
  const Span span(Activity::kScramble);
  const bool weighted = HasWeights(schema_);
  for (std::size_t i = 0; i < states.size(); ++i) {
    prefixes.Next();
    std::ranges::copy(prefixes.state(), states[i].begin());
    const std::size_t row = first + i;
    const Random random(seed_, Purpose::kRollout, request.update, request.first_row + row);
    const std::span<float> label = out.floats(kTargetColumn, row);
    const auto weight = weighted ? out.floats(kWeightColumn, row) : std::span<float>();
    std::ranges::fill(label, 0.0F);
    std::ranges::fill(weight, 0.0F);
    actions[i] = WriteLabel(prefixes.walk(), random, label, weight).value_or(0);
  }
}

// Replaces the states of the rows that are anchors.
void WalkGenerator::PlaceAnchors(const FillRequest& request, Rows states, std::size_t first) const {
  const Span span(Activity::kScramble);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int64_t row = request.first_row + static_cast<std::int64_t>(first + i);
    if (const std::optional<std::size_t> anchor = exact_->Anchor(request.update, row)) {
      std::ranges::copy(exact_->ball()->state(*anchor), states[i].begin());
    }
  }
}

WalkLengthGenerator::WalkLengthGenerator(const Domain& domain, const Config& config,
                                         std::shared_ptr<const ExactLabels> exact)
    : WalkGenerator(domain, config, WalkKind::kNoStepBack, std::move(exact)),
      head_(config.network.head) {
  if (IsQ(head_) && domain.spec().inverse_actions.empty()) {
    throw InputError(fmt::format(
        "generate.target: walk_length with network.head {} needs actions that can be undone, and "
        "{} has some that cannot; set generate.target to {}, or network.head to v",
        NameOf(kHeads, head_), domain.spec().name,
        TakesAction(head_) ? "q_learning" : "value_iteration"));
  }
}

// The cost of the walk's next step and of the way back from there.
float WalkLengthGenerator::CostOfNext(const RandomWalk& walk, Action next) const {
  const DomainSpec& spec = domain().spec();
  return spec.action_costs[next] + UndoCost(spec, next) + walk.cost_back();
}

std::optional<Action> WalkLengthGenerator::WriteLabel(RandomWalk& walk, Random random,
                                                      std::span<float> label,
                                                      std::span<float> weight) const {
  if (ValuesStates(head_)) {
    label[0] = walk.cost_back();
    return std::nullopt;
  }
  if (TakesAction(head_)) return LabelOneAction(walk, random, label[0]);
  const auto set = [&](Action action, float value) {
    label[action] = value;
    weight[action] = 1;
  };
  if (const std::optional<Action> next = walk.NextAction()) set(*next, CostOfNext(walk, *next));
  for (const Action idle : IdleActions(domain(), walk.state())) {
    set(idle, domain().spec().action_costs[idle] + walk.cost_back());
  }
  // In a dead end the next step is the step back, and the shorter way counts.
  if (walk.back()) set(*walk.back(), walk.cost_back());
  return std::nullopt;
}

// Labels the walk's last step undone, its next step or, if there is one, an idle action.
Action WalkLengthGenerator::LabelOneAction(RandomWalk& walk, Random random, float& label) const {
  const std::optional<Action> next = walk.NextAction();
  const bool has_next = next && next != walk.back();
  const std::vector<Action> idle = IdleActions(domain(), walk.state());
  if (!idle.empty() && random.Below(3) == 0) {
    const Action action = idle[random.Below(idle.size())];
    label = domain().spec().action_costs[action] + walk.cost_back();
    return action;
  }
  if (walk.back() && (!has_next || random.Below(2) == 0)) {
    label = walk.cost_back();
    return *walk.back();
  }
  if (has_next) {
    label = CostOfNext(walk, *next);
    return *next;
  }
  // The walk cannot leave the goal, so no action applies, and each leads to the goal again.
  label = domain().spec().action_costs[0];
  return 0;
}

WalkKind WalkKindOfActions(const Domain& domain, const GenerateConfig& config) {
  if (!CommuteAndUndoThemselves(domain)) return WalkKind::kNoStepBack;
  const int num_actions = domain.spec().num_actions();
  if (config.max_scramble <= num_actions) return WalkKind::kDistinctActions;
  throw InputError(fmt::format(
      "`generate.max_scramble: {}`: the actions of {} commute and undo themselves, so a walk whose "
      "actions are labels takes each of them at most once; expected at most {}, the number of "
      "actions. Lower generate.max_scramble.",
      config.max_scramble, domain.spec().name, num_actions));
}

PolicyGenerator::PolicyGenerator(const Domain& domain, const Config& config,
                                 std::shared_ptr<const ExactLabels> exact)
    : PolicyGenerator(domain, config, WalkKindOfActions(domain, config.generate),
                      std::move(exact)) {}

PolicyGenerator::PolicyGenerator(const Domain& domain, const Config& config, WalkKind kind,
                                 std::shared_ptr<const ExactLabels> exact)
    : WalkGenerator(domain, config, kind, std::move(exact)),
      kind_(kind),
      has_value_(EstimatesCosts(config.network.head)) {}

std::optional<Action> PolicyGenerator::WriteLabel(RandomWalk& walk, Random /*random*/,
                                                  std::span<float> label,
                                                  std::span<float> /*weight*/) const {
  if (has_value_) {
    label[0] = walk.cost_back();
    label = label.subspan(1);
  }
  if (kind_ == WalkKind::kDistinctActions) {
    for (const Action action : walk.taken()) {
      label[action] = 1 / static_cast<float>(walk.taken().size());
    }
  } else if (walk.back() && UndoHasEffect(walk)) {
    label[*walk.back()] = 1;
  }
  return std::nullopt;
}

// Whether the action that undoes the walk's last step changes the state.
bool PolicyGenerator::UndoHasEffect(const RandomWalk& walk) const {
  const Action undo = *walk.back();
  std::vector<std::uint8_t> state(walk.state().begin(), walk.state().end());
  domain().Apply(Rows(std::span(state)), {&undo, 1});
  return !std::ranges::equal(state, walk.state());
}

}  // namespace tandem
