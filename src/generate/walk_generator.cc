#include "generate/walk_generator.h"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/timeline.h"
#include "domain/moves.h"
#include "generate/generator.h"
#include "generate/labels.h"
#include "generate/row_ranges.h"
#include "tandem/error.h"

namespace tandem {

std::int64_t WalkRows::Depth(std::int64_t update, std::int64_t row) const {
  const std::int64_t part = row % rows_per_walk_;
  if (rows_per_walk_ == length_) return part + 1;  // all states are rows
  const std::int64_t first = part * length_ / rows_per_walk_;
  const std::int64_t end = (part + 1) * length_ / rows_per_walk_;
  if (end == first + 1) return end;
  Random random(seed_, Purpose::kDepth, update, row);
  return first + 1 +
         static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(end - first)));
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

namespace {

// Divides walks into blocks that are taken together. The states of a block's walks and rows stay in
// a cache until they are encoded, unless calls of the domain need larger blocks.
RowRanges BlocksOf(std::int64_t walks, const DomainSpec& spec, const GenerateConfig& config) {
  constexpr std::int64_t kMostWalks = 256;
  const auto least = static_cast<std::int64_t>(spec.least_batch);
  const std::int64_t of_chunk = config.rows_of_chunk() / config.rows_of_walk();
  const std::int64_t block = std::clamp<std::int64_t>(of_chunk, 1, kMostWalks);
  return block >= least ? RowRanges(walks, block) : RowRanges::OfAtLeast(walks, least);
}

// WalkGenerator makes examples of prefixes of random walks from a goal, labelled by the walks
// themselves. WalkRows says which prefixes become rows. Training on all of them follows Takano,
// "Self-Supervision is All You Need for Solving Rubik's Cube", TMLR 2023.
//
// The cost of undoing a walk is an upper bound on the true cost-to-go. It is the label of a V net
// (Chervov et al., "CayleyPy", 2025).
//
// For a Q net, the label of an action is its cost plus the cost of the way back from its child. A
// walk knows that for the action that undoes its last step, for its own next step, and for the
// idle actions of the state (IdleActions). Only these have weight 1; all others are masked.
// Labelling them as if they led away from the goal would be wrong wherever moves commute, and
// would flatten the ranking of a state's actions. The sparse labels follow
// AnanasClassic/cayleypy-training-core.
//
// For head q_in, whose input has an action, each row labels one of them, drawn at random: an idle
// action in a third of the rows of states that have any.
//
// The label of a policy is the walk's last step, undone, as in EfficientCube (Takano): a
// distribution over the actions, here with a single 1. If all actions commute and undo themselves
// (CommuteAndUndoThemselves), such as the buttons of Lights Out, every action of the walk is a
// first step of the way back, and which one came last says nothing. Walks then take distinct
// actions, and the label is uniform over those taken. A row has no label, but zeros, which add
// nothing to the loss, if the walk cannot leave the goal or if the action that undoes its last
// step changes nothing. Where labels of a puzzle repeat, such as colours, a move may exchange
// equal ones. Head vp learns what a V net and a policy learn.
//
// With generate.ball_radius, rows in the ball around the goal get exact labels, and some rows
// become anchors (ExactLabels).
//
// Blocks of walks advance in lock step (RandomWalks). A row does not depend on the size of blocks.
class WalkGenerator final : public Generator {
 public:
  // `domain` must outlive this. See MakeGenerator for `config`. `exact` may be null. Throws
  // InputError for a Q net if the domain's actions have no inverses, and for a policy the same
  // errors as WalkKindOfActions.
  WalkGenerator(const Domain& domain, const Config& config,
                std::shared_ptr<const ExactLabels> exact)
      : domain_(domain),
        config_(config.generate),
        head_(config.network.head),
        rows_(config),
        kind_(HasPolicy(head_) ? WalkKindOfActions(domain, config.generate)
                               : WalkKind::kNoStepBack),
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

  bool needs_network() const override { return false; }
  const Schema& schema() const override { return schema_; }

  // Blocks consist of whole walks, of which the first and the last may lie partly outside the
  // request.
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    const std::int64_t of_walk = rows_.rows_per_walk();
    const std::int64_t first = request.first_row / of_walk;
    const std::int64_t end = (request.first_row + request.rows + of_walk - 1) / of_walk;
    const RowRanges blocks = BlocksOf(end - first, domain_.spec(), config_);
    FillRanges(arena_, blocks, stop, [&](RowRange walks) {
      const std::int64_t begin = (first + walks.first) * of_walk - request.first_row;
      const std::int64_t first_row = std::max<std::int64_t>(begin, 0);
      const std::int64_t end_row = std::min(begin + walks.rows * of_walk, request.rows);
      FillBlock(request, {.first = first_row, .rows = end_row - first_row}, out);
    });
  }

 private:
  // A row of a block of walks.
  struct Due {
    std::size_t walk;  // in the block
    std::size_t row;   // in the block
  };

  // Walking and encoding are timed separately. Labels of states in the ball are corrected. A goal
  // outside would have the wrong label of its walk.
  void FillBlock(const FillRequest& request, RowRange block, DataBuffer& out) const {
    const auto first = static_cast<std::size_t>(block.first);
    const auto rows = static_cast<std::size_t>(block.rows);
    const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
    std::vector<std::uint8_t> memory(rows * state_size);
    const Rows states(memory.data(), rows, state_size);
    std::vector<Action> actions(rows);
    TakeWalks(request, block, states, actions, out);
    const Span span(Activity::kWrite);
    EncodeInputs(domain_, states, actions, out.column(kInputColumn).Slice(first, rows));
    if (exact_ == nullptr) return;
    std::vector<std::uint8_t> is_goal(rows);
    domain_.IsGoal(states, is_goal);
    std::vector<std::size_t> of_out(rows);
    std::iota(of_out.begin(), of_out.end(), first);
    const std::vector<std::uint8_t> in_ball = exact_->Write(states, of_out, out);
    for (std::size_t i = 0; i < rows; ++i) {
      if (in_ball[i] == 0 && is_goal[i] != 0) RefuseSecondGoal(domain_, states[i]);
    }
  }

  // Takes the walks of a block of rows. Writes the rows' labels, states and, if the head takes an
  // action as input, the actions that they are about.
  void TakeWalks(const FillRequest& request, RowRange block, Rows states, std::span<Action> actions,
                 DataBuffer& out) const {
    const Span span(Activity::kScramble);
    const std::int64_t first_row = request.first_row + block.first;
    const std::int64_t of_walk = rows_.rows_per_walk();
    std::vector<Random> randoms;
    std::vector<std::int64_t> lengths;
    std::vector<std::vector<Due>> due(static_cast<std::size_t>(rows_.length()) + 1);  // by depth
    for (std::int64_t row = first_row; row < first_row + block.rows;) {
      const std::int64_t walk = row / of_walk;
      std::int64_t depth = 0;
      for (const std::int64_t end = std::min((walk + 1) * of_walk, first_row + block.rows);
           row < end; ++row) {
        depth = rows_.Depth(request.update, row);
        due[static_cast<std::size_t>(depth)].push_back(
            {.walk = randoms.size(), .row = static_cast<std::size_t>(row - first_row)});
      }
      randoms.emplace_back(seed_, Purpose::kScramble, request.update, walk);
      lengths.push_back(IsQ(head_) ? depth + 1 : depth);  // a Q net learns the next step too
    }
    RandomWalks walks(domain_, kind_);
    walks.Begin(randoms, lengths);
    for (const std::vector<Due>& now : std::span(due).subspan(1)) {
      walks.Step();
      if (now.empty()) continue;
      if (IsQ(head_)) walks.DrawActions();
      const std::vector<std::uint8_t> has_effect = UndoHasEffect(walks, now);
      for (std::size_t i = 0; i < now.size(); ++i) {
        const auto [walk, row] = now[i];
        const std::int64_t global = first_row + static_cast<std::int64_t>(row);
        const std::optional<std::size_t> anchor =
            exact_ != nullptr ? exact_->Anchor(request.update, global) : std::nullopt;
        std::ranges::copy(anchor ? exact_->ball()->state(*anchor) : walks.state(walk),
                          states[row].begin());
        const bool undo_has_effect = has_effect.empty() || has_effect[i] != 0;
        const std::size_t at = static_cast<std::size_t>(block.first) + row;
        WriteLabel(walks, walk, undo_has_effect, out, at);
        if (!TakesAction(head_)) continue;
        Random random(seed_, Purpose::kRollout, request.update, global);
        actions[row] = LabelOneAction(walks, walk, random, out.floats(kTargetColumn, at)[0]);
      }
    }
  }

  // Whether the action that undoes the last step changes the state, for each walk in `due`. Empty
  // if no label depends on it.
  std::vector<std::uint8_t> UndoHasEffect(const RandomWalks& walks,
                                          std::span<const Due> due) const {
    if (!HasPolicy(head_) || kind_ == WalkKind::kDistinctActions) return {};
    const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
    std::vector<std::uint8_t> memory(due.size() * state_size);
    const Rows states(memory.data(), due.size(), state_size);
    std::vector<Action> actions;
    for (std::size_t i = 0; i < due.size(); ++i) {
      std::ranges::copy(walks.state(due[i].walk), states[i].begin());
      actions.push_back(walks.back(due[i].walk).value_or(0));
    }
    domain_.Apply(states, actions);
    std::vector<std::uint8_t> has_effect;
    for (std::size_t i = 0; i < due.size(); ++i) {
      has_effect.push_back(std::ranges::equal(states[i], walks.state(due[i].walk)) ? 0 : 1);
    }
    return has_effect;
  }

  // Labels the state that a walk has reached, unless the head takes an action as input.
  void WriteLabel(const RandomWalks& walks, std::size_t walk, bool undo_has_effect, DataBuffer& out,
                  std::size_t row) const {
    const std::span<float> label = out.floats(kTargetColumn, row);
    std::ranges::fill(label, 0.0F);
    const HeadTraits traits = TraitsOf(head_);
    if (traits.values_states) label[0] = walks.cost_back(walk);
    if (traits.values_all_actions()) {
      LabelKnownActions(walks, walk, label, out.floats(kWeightColumn, row));
    }
    if (traits.has_policy) {
      WritePolicy(walks, walk, undo_has_effect,
                  label.last(static_cast<std::size_t>(domain_.spec().num_actions())));
    }
  }

  void LabelKnownActions(const RandomWalks& walks, std::size_t walk, std::span<float> label,
                         std::span<float> weight) const {
    std::ranges::fill(weight, 0.0F);
    const auto set = [&](Action action, float value) {
      label[action] = value;
      weight[action] = 1;
    };
    const float cost_back = walks.cost_back(walk);
    if (const std::optional<Action> next = walks.next(walk)) {
      set(*next, CostOfNext(walks, walk, *next));
    }
    for (const Action idle : IdleActions(walks.applies(walk))) {
      set(idle, domain_.spec().action_costs[idle] + cost_back);
    }
    // In a dead end the next step is the step back, and the shorter way counts.
    if (walks.back(walk)) set(*walks.back(walk), cost_back);
  }

  // Labels the walk's last step undone, its next step or, if there is one, an idle action. Returns
  // the action. `random` belongs to the row.
  Action LabelOneAction(const RandomWalks& walks, std::size_t walk, Random& random,
                        float& label) const {
    const std::optional<Action> back = walks.back(walk);
    const std::optional<Action> next = walks.next(walk);
    const bool has_next = next && next != back;
    const std::vector<Action> idle = IdleActions(walks.applies(walk));
    if (!idle.empty() && random.Below(3) == 0) {
      const Action action = idle[random.Below(idle.size())];
      label = domain_.spec().action_costs[action] + walks.cost_back(walk);
      return action;
    }
    if (back && (!has_next || random.Below(2) == 0)) {
      label = walks.cost_back(walk);
      return *back;
    }
    if (has_next) {
      label = CostOfNext(walks, walk, *next);
      return *next;
    }
    // The walk cannot leave the goal, so no action applies, and each leads to the goal again.
    label = domain_.spec().action_costs[0];
    return 0;
  }

  // `policy` must hold zeros.
  void WritePolicy(const RandomWalks& walks, std::size_t walk, bool undo_has_effect,
                   std::span<float> policy) const {
    if (kind_ == WalkKind::kDistinctActions) {
      const std::span<const Action> taken = walks.taken(walk);
      for (const Action action : taken) policy[action] = 1 / static_cast<float>(taken.size());
    } else if (walks.back(walk) && undo_has_effect) {
      policy[*walks.back(walk)] = 1;
    }
  }

  // The cost of the walk's next step and of the way back from there.
  float CostOfNext(const RandomWalks& walks, std::size_t walk, Action next) const {
    const DomainSpec& spec = domain_.spec();
    return spec.action_costs[next] + UndoCost(spec, next) + walks.cost_back(walk);
  }

  const Domain& domain_;
  const GenerateConfig config_;
  const Head head_;
  const WalkRows rows_;
  const WalkKind kind_;
  const std::uint64_t seed_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;  // may be null
  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<Generator> MakeWalkGenerator(const Domain& domain, const Config& config,
                                             std::shared_ptr<const ExactLabels> exact) {
  return std::make_unique<WalkGenerator>(domain, config, std::move(exact));
}

}  // namespace tandem
