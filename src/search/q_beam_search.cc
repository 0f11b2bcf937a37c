#include "search/q_beam_search.h"

#include <algorithm>
#include <utility>

namespace tandem {

std::vector<std::uint32_t> QBeamSearch::Choose(const StopSignal& stop) {
  const std::span<const float> values = expander().EstimateActions(q_net_, frontier(), stop);
  const auto num_actions = static_cast<std::size_t>(domain().spec().num_actions());
  std::vector<std::pair<float, std::uint32_t>> ranked(values.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    ranked[i] = {values[i] + Excess(i / num_actions), static_cast<std::uint32_t>(i)};
  }
  // Take as many of the best children as are still needed, and repeat, since some of them are
  // duplicates.
  std::vector<std::uint32_t> chosen;
  auto best = ranked.begin();
  while (chosen.size() < options().width && best != ranked.end()) {
    const auto wanted = static_cast<std::ptrdiff_t>(options().width - chosen.size());
    const auto end = best + std::min(wanted, ranked.end() - best);
    std::nth_element(best, end, ranked.end());
    std::sort(best, end);  // decides which of several equal children is kept
    for (; best != end; ++best) {
      if (!MarkKept(best->second)) continue;
      chosen.push_back(best->second);
      const std::uint32_t child = best->second;
      NoteEstimate(child, values[child] - domain().spec().action_costs[child % num_actions]);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace tandem
