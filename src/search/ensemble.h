// Several networks as one.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tandem/evaluator.h"

namespace tandem {

/// Ensemble evaluates with several networks and gives the mean of their values: of their estimates,
/// of their Q values, or of the log probabilities of their policies. All networks read the same
/// input and give the same kinds of values.
///
/// A state takes one evaluation by each network. CayleyPy's cube solver found more shortest
/// solutions with 26 networks than with one (Chervov et al., arXiv 2502.13266).
class Ensemble final : public Evaluator {
 public:
  /// There is at least one network. The networks must outlive this.
  explicit Ensemble(std::vector<Evaluator*> networks) : networks_(std::move(networks)) {}

  bool estimates_states() const override { return networks_.front()->estimates_states(); }
  ActionValues action_values() const override { return networks_.front()->action_values(); }
  void Evaluate(ConstRows inputs, std::span<float> values) override;
  void EvaluateActions(ConstRows inputs, std::span<float> values) override;

 private:
  // Calls evaluate(network, values) with each network, and sets `values` to the means.
  template <class EvaluateOne>
  void Average(std::span<float> values, const EvaluateOne& evaluate);

  const std::vector<Evaluator*> networks_;
  std::vector<float> of_one_;  // values of one network
};

}  // namespace tandem
