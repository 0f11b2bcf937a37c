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

WalkGenerator::WalkGenerator(const Domain& domain, const Config& config,
                             std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      head_(config.network.head),
      rows_(config),
      kind_(HasPolicy(head_) ? WalkKindOfActions(domain, config.generate) : WalkKind::kNoStepBack),
      range_rows_(config.generate.rows_of_chunk()),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      exact_(std::move(exact)),
      arena_(static_cast<int>(*config.generate.workers)) {
  if (IsQ(head_) && domain.spec().inverse_actions.empty()) {
    throw InputError(fmt::format(
        "generate.target: walk_length with network.head {} needs actions that can be undone, and "
        "{} has some that cannot; set generate.target to {}, or network.head to v",
        NameOf(kHeads, head_), domain.spec().name,
        TakesAction(head_) ? "q_learning" : "value_iteration"));
  }
}

// Works in blocks that are so small that their states stay in cache until they are encoded.
void WalkGenerator::Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) {
  constexpr std::int64_t kBlockRows = 512;
  FillRanges(arena_, RowRanges(request.rows, range_rows_), stop, [&](RowRange range) {
    Prefixes prefixes(*this, request.update, request.first_row + range.first);
    const RowRanges blocks(range.rows, kBlockRows);
    for (std::int64_t i = 0; i < blocks.size(); ++i) {
      const auto [first, rows] = blocks[i];
      FillBlock(request, {.first = range.first + first, .rows = rows}, prefixes, out);
    }
  });
}

// Walking and encoding are timed separately. Labels of states in the ball are corrected. A goal
// outside would have the wrong label of its walk.
void WalkGenerator::FillBlock(const FillRequest& request, RowRange block, Prefixes& prefixes,
                              DataBuffer& out) const {
  const auto first = static_cast<std::size_t>(block.first);
  const auto rows = static_cast<std::size_t>(block.rows);
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  std::vector<std::uint8_t> memory(rows * state_size);
  const Rows states(memory.data(), rows, state_size);
  std::vector<Action> actions(rows);
  {
    const Span span(Activity::kScramble);
    for (std::size_t i = 0; i < rows; ++i) {
      prefixes.Next();
      const std::int64_t row = request.first_row + static_cast<std::int64_t>(first + i);
      const std::optional<std::size_t> anchor =
          exact_ != nullptr ? exact_->Anchor(request.update, row) : std::nullopt;
      std::ranges::copy(anchor ? exact_->ball()->state(*anchor) : prefixes.state(),
                        states[i].begin());
      actions[i] = WriteLabel(
          prefixes.walk(), Random(seed_, Purpose::kRollout, request.update, row), out, first + i);
    }
  }
  const Span span(Activity::kWrite);
  EncodeInputs(domain_, states, actions, out.column(kInputColumn).Slice(first, rows));
  if (exact_ == nullptr) return;
  std::vector<std::uint8_t> is_goal(rows);
  domain_.IsGoal(states, is_goal);
  for (std::size_t i = 0; i < rows; ++i) {
    if (exact_->Write(states[i], out, first + i) || is_goal[i] == 0) continue;
    RefuseSecondGoal(domain_, states[i]);
  }
}

// Labels the state that `walk` has reached. Returns the action that the row is about if the head
// takes an action as input. `random` belongs to the row.
Action WalkGenerator::WriteLabel(RandomWalk& walk, Random random, DataBuffer& out,
                                 std::size_t row) const {
  const std::span<float> label = out.floats(kTargetColumn, row);
  std::ranges::fill(label, 0.0F);
  const HeadTraits traits = TraitsOf(head_);
  if (traits.takes_action) return LabelOneAction(walk, random, label[0]);
  if (traits.values_states) label[0] = walk.cost_back();
  if (traits.values_all_actions()) {
    LabelKnownActions(walk, label, out.floats(kWeightColumn, row));
  }
  if (traits.has_policy) {
    WritePolicy(walk, label.last(static_cast<std::size_t>(domain_.spec().num_actions())));
  }
  return 0;
}

void WalkGenerator::LabelKnownActions(RandomWalk& walk, std::span<float> label,
                                      std::span<float> weight) const {
  std::ranges::fill(weight, 0.0F);
  const auto set = [&](Action action, float value) {
    label[action] = value;
    weight[action] = 1;
  };
  if (const std::optional<Action> next = walk.NextAction()) set(*next, CostOfNext(walk, *next));
  for (const Action idle : IdleActions(domain_, walk.state())) {
    set(idle, domain_.spec().action_costs[idle] + walk.cost_back());
  }
  // In a dead end the next step is the step back, and the shorter way counts.
  if (walk.back()) set(*walk.back(), walk.cost_back());
}

// Labels the walk's last step undone, its next step or, if there is one, an idle action.
Action WalkGenerator::LabelOneAction(RandomWalk& walk, Random random, float& label) const {
  const std::optional<Action> next = walk.NextAction();
  const bool has_next = next && next != walk.back();
  const std::vector<Action> idle = IdleActions(domain_, walk.state());
  if (!idle.empty() && random.Below(3) == 0) {
    const Action action = idle[random.Below(idle.size())];
    label = domain_.spec().action_costs[action] + walk.cost_back();
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
  label = domain_.spec().action_costs[0];
  return 0;
}

// The cost of the walk's next step and of the way back from there.
float WalkGenerator::CostOfNext(const RandomWalk& walk, Action next) const {
  const DomainSpec& spec = domain_.spec();
  return spec.action_costs[next] + UndoCost(spec, next) + walk.cost_back();
}

// `policy` must hold zeros.
void WalkGenerator::WritePolicy(const RandomWalk& walk, std::span<float> policy) const {
  if (kind_ == WalkKind::kDistinctActions) {
    for (const Action action : walk.taken()) {
      policy[action] = 1 / static_cast<float>(walk.taken().size());
    }
  } else if (walk.back() && UndoHasEffect(walk)) {
    policy[*walk.back()] = 1;
  }
}

// Whether the action that undoes the walk's last step changes the state.
bool WalkGenerator::UndoHasEffect(const RandomWalk& walk) const {
  const Action undo = *walk.back();
  std::vector<std::uint8_t> state(walk.state().begin(), walk.state().end());
  domain_.Apply(Rows(std::span(state)), {&undo, 1});
  return !std::ranges::equal(state, walk.state());
}

}  // namespace tandem
