// Beam search guided by a Q net.
#pragma once

#include "search/beam_search.h"

namespace tandem {

/// QBeamSearch is BeamSearch with a Q net: it ranks the children of the frontier by the Q values of
/// the actions that lead to them. It evaluates once per kept state instead of once per child, so at
/// the same cost the beam can be wider by about the number of actions.
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
