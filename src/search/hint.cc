#include "search/hint.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "search/expander.h"

namespace tandem {
namespace {

// rest[a] is the estimated cost-to-go of the child of action a.
Hint BestOf(const DomainSpec& spec, const Expander& expander, std::span<const float> rest) {
  Hint hint;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t a = 0; a < rest.size(); ++a) {
    if (expander.unchanged()[a] != 0) continue;  // the action does not apply
    const float to_go = expander.is_goal()[a] != 0 ? 0.0F : std::max(rest[a], 0.0F);
    if (spec.action_costs[a] + to_go >= least) continue;
    least = spec.action_costs[a] + to_go;
    hint.action = static_cast<Action>(a);
    hint.rest = to_go;
  }
  hint.estimate = least;
  return hint;
}

}  // namespace

Hint HintByStates(const Domain& domain, Evaluator& v_net, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  Expander expander(domain, v_net, domain.spec().num_actions());
  const StopSignal never;
  const std::uint32_t first = 0;
  const float estimate = expander.Estimate(ConstRows(state), {&first, 1}, never)[0];
  expander.Expand(ConstRows(state));
  std::vector<std::uint32_t> every(expander.children().size());
  std::iota(every.begin(), every.end(), 0U);
  Hint hint = BestOf(domain.spec(), expander, expander.Estimate(expander.children(), every, never));
  hint.estimate = std::max(estimate, 0.0F);
  return hint;
}

Hint HintByActions(const Domain& domain, QEvaluator& q_net, std::span<const std::uint8_t> state) {
  if (IsGoal(domain, state)) return {};
  Expander expander(domain, q_net, domain.spec().num_actions());
  expander.Expand(ConstRows(state));
  const std::span<const float> values =
      expander.EstimateActions(q_net, ConstRows(state), StopSignal());
  std::vector<float> rest(values.begin(), values.end());
  for (std::size_t a = 0; a < rest.size(); ++a) rest[a] -= domain.spec().action_costs[a];
  return BestOf(domain.spec(), expander, rest);
}

}  // namespace tandem
