// Evaluation of states by networks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "search/costs.h"
#include "search/expander.h"
#include "tandem/domain.h"
#include "tandem/error.h"
#include "tandem/evaluator.h"

namespace tandem {

/// The most states that a search passes to the network in one call. On a GPU it is several batches,
/// which InferenceNet cuts, so that one is computed while the next is copied. On a CPU it is one,
/// so that a stop takes effect quickly and encoded states stay in the cache.
std::size_t RowsPerCall(const Config& config);

/// BatchEvaluator encodes states, on the TBB threads of the caller's arena, and passes them to a
/// network, a part at a time, so that a stop takes effect soon and they take little memory.
///
/// Its memory is reused: a returned span stays valid until the next call. Not thread-safe. The
/// network is called on the calling thread and may block, so never call a method inside a TBB task.
/// All methods throw Stopped once `stop` is reached, Error that names the state if one of its
/// values is NaN, and whatever the network throws.
class BatchEvaluator {
 public:
  /// `domain` and `network` must outlive this. Each call of the network gets at most
  /// `rows_per_call` states.
  BatchEvaluator(const Domain& domain, Evaluator& network,
                 std::size_t rows_per_call = std::numeric_limits<std::size_t>::max())
      : domain_(domain), network_(network), rows_per_call_(rows_per_call) {}

  /// The network's estimates of `states`.
  std::span<const float> Estimate(ConstRows states, const StopSignal& stop) {
    return Evaluate(states, /*of_actions=*/false, stop);
  }

  /// The network's values of every action in `states`: num_actions values per state.
  std::span<const float> EvaluateActions(ConstRows states, const StopSignal& stop) {
    return Evaluate(states, /*of_actions=*/true, stop);
  }

  /// What `ranking` ranks the children of `states` by, which `expander` has expanded: the estimate
  /// of each child, or the value of the action that leads to it. Children that are left out are not
  /// evaluated, and their estimates are unspecified.
  std::vector<float> ValuesOfChildren(Ranking ranking, ConstRows states, const Expander& expander,
                                      const StopSignal& stop);

 private:
  std::span<const float> Evaluate(ConstRows states, bool of_actions, const StopSignal& stop);

  const Domain& domain_;
  Evaluator& network_;
  const std::size_t rows_per_call_;
  std::vector<std::uint8_t> inputs_;  // the encoded states of a call
  std::vector<float> values_;
};

/// Throws Error that names `user` if `network` does not estimate states.
void CheckEstimatesStates(const char* user, const Evaluator& network);

/// Returns the error for a network whose estimate of `state` is not a number.
Error NanEstimate(const Domain& domain, std::span<const std::uint8_t> state);

/// Throws NanEstimate if a value is NaN, which min and max would drop silently. Each of `states`
/// has the same number of `values`.
void RejectNan(const Domain& domain, std::span<const float> values, ConstRows states);

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
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    Average(&Evaluator::Evaluate, inputs, values);
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    Average(&Evaluator::EvaluateActions, inputs, values);
  }
  void EvaluateWithActions(ConstRows inputs, std::span<float> values) override {
    Average(&Evaluator::EvaluateWithActions, inputs, values);
  }

 private:
  // Sets `values` to the means of what `evaluate` gives for each network.
  void Average(void (Evaluator::*evaluate)(ConstRows, std::span<float>), ConstRows inputs,
               std::span<float> values);

  const std::vector<Evaluator*> networks_;
  std::vector<float> of_one_;  // values of one network
};

}  // namespace tandem
