#include "generate/path_labels.h"

#include <algorithm>
#include <numeric>

#include "base/timeline.h"
#include "data/examples.h"
#include "domain/moves.h"
#include "search/search.h"

namespace tandem {

std::vector<Action> IdleActions(const Domain& domain, std::span<const std::uint8_t> state) {
  std::vector<Action> idle;
  if (!domain.spec().masks_actions) return idle;
  std::vector<std::uint8_t> applies(static_cast<std::size_t>(domain.spec().num_actions()));
  domain.Mask(ConstRows(state), applies);
  for (std::size_t action = 0; action < applies.size(); ++action) {
    if (applies[action] == 0) idle.push_back(static_cast<Action>(action));
  }
  return idle;
}

PathLabels::PathLabels(const Domain& domain, Head head)
    : domain_(domain),
      head_(head),
      order_matters_(!HasPolicy(head) || !CommuteAndUndoThemselves(domain)) {}

void PathLabels::Write(std::span<const std::uint8_t> state, std::span<const Action> rest,
                       DataBuffer& out, std::size_t row) const {
  const Span span(Activity::kWrite);
  WriteLabel(state, rest, out, row);
  const Action first = rest.empty() ? Action{0} : rest.front();
  EncodeInputs(domain_, ConstRows(state), {&first, 1}, out.column(kInputColumn).Slice(row, 1));
}

void PathLabels::WriteLabel(std::span<const std::uint8_t> state, std::span<const Action> rest,
                            DataBuffer& out, std::size_t row) const {
  std::span<float> label = out.floats(kTargetColumn, row);
  std::ranges::fill(label, 0.0F);
  const float cost = CostOf(domain_.spec(), rest);
  switch (head_) {
    case Head::kV:
      label[0] = cost;
      return;
    case Head::kQIn:
      label[0] = rest.empty() ? domain_.spec().action_costs[0] : cost;
      return;
    case Head::kQ: {
      const std::span<float> weight = out.floats(kWeightColumn, row);
      std::ranges::fill(weight, 0.0F);
      const auto set = [&](Action action, float value) {
        label[action] = value;
        weight[action] = 1;
      };
      for (const Action idle : IdleActions(domain_, state)) {
        set(idle, domain_.spec().action_costs[idle] + cost);
      }
      if (!rest.empty()) set(rest.front(), cost);
      return;
    }
    case Head::kPolicy:
      WritePolicy(rest, label);
      return;
    case Head::kVp:
      label[0] = cost;
      WritePolicy(rest, label.subspan(1));
      return;
  }
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
