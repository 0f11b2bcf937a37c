// Beam search with a Q net.
#pragma once

#include "search/beam_search.h"

namespace tandem {

/// Ranks the children of the frontier by what a Q net says of the actions that lead to them: one
/// evaluation for each state kept instead of one for each child, so a beam of the same cost is
/// wider by about the number of actions. The `width` of least estimate are kept; the rest is as in
/// BeamSearch.
class QBeamSearch final : public BeamSearch {
 public:
  /// `domain` and `q_net` must outlive this.
  QBeamSearch(const Domain& domain, QEvaluator& q_net, BeamOptions options)
      : BeamSearch(domain, q_net, options), q_net_(q_net) {}

 private:
  std::vector<std::uint32_t> Choose(const StopSignal& stop) override;

  QEvaluator& q_net_;
};

}  // namespace tandem
