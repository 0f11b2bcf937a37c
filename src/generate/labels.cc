#include "generate/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/timeline.h"
#include "data/examples.h"
#include "domain/moves.h"
#include "domain/random_walks.h"
#include "search/costs.h"
#include "search/search.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Writes the same probability for each of the actions with the least cost; zeros for a goal. Costs
// that were added in different orders are equal if they differ by their rounding only.
void WriteCheapest(std::span<const float> costs, bool is_goal, std::span<float> policy) {
  const double least = WithRounding(std::ranges::min(costs));
  const auto is_cheapest = [&](float cost) { return cost <= least; };
  const auto ties = static_cast<float>(std::ranges::count_if(costs, is_cheapest));
  for (std::size_t action = 0; action < costs.size(); ++action) {
    policy[action] = !is_goal && is_cheapest(costs[action]) ? 1 / ties : 0;
  }
}

}  // namespace

ExactLabels::ExactLabels(const Domain& domain, const Config& config,
                         std::shared_ptr<const GoalBall> ball)
    : domain_(domain),
      head_(config.network.head),
      share_(config.generate.anchor_share),
      seed_(config.random_seed()),
      ball_(std::move(ball)) {}

std::vector<std::uint8_t> ExactLabels::Write(ConstRows states, std::span<const std::size_t> rows,
                                             DataBuffer& examples) const {
  std::vector<std::uint8_t> in_ball(states.size());
  std::vector<std::size_t> inside;  // rows in the ball, with their states and costs
  std::vector<std::uint8_t> memory;
  std::vector<float> costs;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::optional<float> cost = ball_->CostOf(states[i]);
    if (!cost) continue;
    in_ball[i] = 1;
    inside.push_back(rows[i]);
    memory.insert(memory.end(), states[i].begin(), states[i].end());
    costs.push_back(*cost);
  }
  std::vector<float> of_actions;
  if (RanksActions(head_)) {
    of_actions = CostsOfActions(ConstRows(memory.data(), costs.size(), states.row_size()), costs);
  }
  const std::size_t width = of_actions.empty() ? 0 : of_actions.size() / costs.size();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    WriteLabel(costs[i], std::span(of_actions).subspan(i * width, width), examples, inside[i]);
  }
  return in_ball;
}

// Writes the label of a state with this cost-to-go. `of_actions` has the cost of each action, if
// the head needs it.
void ExactLabels::WriteLabel(float cost, std::span<const float> of_actions, DataBuffer& examples,
                             std::size_t row) const {
  const std::span<float> label = examples.floats(kTargetColumn, row);
  LabelAllOutputs(examples, row);
  const HeadTraits traits = TraitsOf(head_);
  if (traits.values_states) label[0] = cost;
  if (of_actions.empty()) return;
  if (traits.takes_action) label[0] = of_actions[ActionIn(domain_.spec(), examples, row)];
  if (traits.values_all_actions()) std::ranges::copy(of_actions, label.begin());
  if (traits.has_policy) WriteCheapest(of_actions, cost == 0, label.last(of_actions.size()));
}

// The cost of each action plus that of the way from there, for states with these costs-to-go.
std::vector<float> ExactLabels::CostsOfActions(ConstRows states,
                                               std::span<const float> costs) const {
  const DomainSpec& spec = domain_.spec();
  const auto num_actions = static_cast<std::size_t>(spec.num_actions());
  std::vector<float> of_actions(states.size() * num_actions);
  std::vector<std::uint8_t> memory(of_actions.size() * states.row_size());
  const Rows children(memory.data(), of_actions.size(), states.row_size());
  domain_.Expand(states, children);
  for (std::size_t child = 0; child < of_actions.size(); ++child) {
    const auto action = static_cast<Action>(child % num_actions);
    const float further = costs[child / num_actions] + UndoCost(spec, action);
    of_actions[child] =
        spec.action_costs[action] + ball_->CostOf(children[child]).value_or(further);
  }
  return of_actions;
}

std::optional<std::size_t> ExactLabels::Anchor(std::int64_t update, std::int64_t row) const {
  if (share_ == 0) return std::nullopt;
  Random random(seed_, Purpose::kAnchor, update, row);
  if (random.Share() >= share_) return std::nullopt;
  return static_cast<std::size_t>(random.Below(ball_->size()));
}

std::shared_ptr<const ExactLabels> MakeExactLabels(const Domain& domain, const Config& config) {
  auto ball = MakeGoalBall(domain, config.generate.ball_radius, config.memory);
  if (ball == nullptr) return nullptr;
  if (ball->limited()) {
    throw InputError(fmt::format(
        "`generate.ball_radius: {:g}`: the ball would take more memory than "
        "memory.ball_limit_gib ({:g}); radius {:g} fits. Lower generate.ball_radius to that, or "
        "raise memory.ball_limit_gib.",
        config.generate.ball_radius, config.memory.ball_limit_gib, ball->radius()));
  }
  return std::make_shared<const ExactLabels>(domain, config, std::move(ball));
}

std::vector<Action> IdleActions(std::span<const std::uint8_t> applies) {
  std::vector<Action> idle;
  for (std::size_t action = 0; action < applies.size(); ++action) {
    if (applies[action] == 0) idle.push_back(static_cast<Action>(action));
  }
  return idle;
}

void EncodeInputsOf(const Domain& domain, ConstRows states, std::span<const Action> actions,
                    std::span<const std::size_t> rows, DataBuffer& out) {
  const Rows column = out.column(kInputColumn);
  std::vector<std::uint8_t> memory(rows.size() * column.row_size());
  const Rows inputs(memory.data(), rows.size(), column.row_size());
  EncodeInputs(domain, states, actions, inputs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(inputs[i], column[rows[i]].begin());
  }
}

PathLabels::PathLabels(const Domain& domain, Head head)
    : domain_(domain),
      head_(head),
      order_matters_(!HasPolicy(head) || !CommuteAndUndoThemselves(domain)) {}

void PathLabels::Write(ConstRows states, std::span<const PathRow> paths, DataBuffer& out) const {
  const Span span(Activity::kWrite);
  const DomainSpec& spec = domain_.spec();
  const auto num_actions = static_cast<std::size_t>(spec.num_actions());
  const bool needs_mask = TraitsOf(head_).values_all_actions() && spec.masks_actions;
  std::vector<std::uint8_t> applies(needs_mask ? paths.size() * num_actions : 0);
  if (needs_mask) domain_.Mask(states, applies);
  std::vector<Action> actions;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    WriteLabel(paths[i],
               needs_mask ? std::span(applies).subspan(i * num_actions, num_actions)
                          : std::span<const std::uint8_t>(),
               out);
    actions.push_back(paths[i].rest.empty() ? Action{0} : paths[i].rest.front());
  }
  std::vector<std::size_t> rows;
  for (const PathRow& path : paths) rows.push_back(path.row);
  EncodeInputsOf(domain_, states, actions, rows, out);
}

// `applies` says which actions apply in the state; empty if all do.
void PathLabels::WriteLabel(const PathRow& path, std::span<const std::uint8_t> applies,
                            DataBuffer& out) const {
  std::span<float> label = out.floats(kTargetColumn, path.row);
  std::ranges::fill(label, 0.0F);
  const DomainSpec& spec = domain_.spec();
  const std::span<const Action> rest = path.rest;
  const float cost = CostOf(spec, rest);
  const HeadTraits traits = TraitsOf(head_);
  if (traits.values_states) label[0] = cost;
  if (traits.takes_action) label[0] = rest.empty() ? spec.action_costs[0] : cost;
  if (traits.has_policy) {
    WritePolicy(rest, label.last(static_cast<std::size_t>(spec.num_actions())));
  }
  if (!traits.values_all_actions()) return;
  const std::span<float> weight = out.floats(kWeightColumn, path.row);
  std::ranges::fill(weight, 0.0F);
  const auto set = [&](Action action, float value) {
    label[action] = value;
    weight[action] = 1;
  };
  for (const Action idle : IdleActions(applies)) set(idle, spec.action_costs[idle] + cost);
  if (!rest.empty()) set(rest.front(), cost);
}

// `policy` must hold zeros.
void PathLabels::WritePolicy(std::span<const Action> rest, std::span<float> policy) const {
  if (order_matters_) {
    if (!rest.empty()) policy[rest.front()] = 1;
    return;
  }
  for (const Action action : rest) policy[action] = 1 - policy[action];
  const float taken = std::accumulate(policy.begin(), policy.end(), 0.0F);
  if (taken == 0) return;
  for (float& share : policy) share /= taken;
}

}  // namespace tandem
