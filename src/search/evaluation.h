// Evaluation of states by networks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/stop_signal.h"
#include "tandem/domain.h"
#include "tandem/error.h"
#include "tandem/evaluator.h"

namespace tandem {

class Expander;

/// BatchEvaluator encodes states and passes them to a network, one slice after another, so that a
/// stop takes effect quickly and the encoded states stay in the cache. Encoding uses the TBB
/// threads of the caller's arena.
///
/// Its memory is reused: a returned span stays valid until the next call. Not thread-safe. The
/// network is called on the calling thread and may block, so never call a method inside a TBB task.
/// All methods throw Stopped once `stop` is reached, Error that names the state if one of its
/// values is NaN, and whatever the network throws.
class BatchEvaluator {
 public:
  /// `domain` and `network` must outlive this. Each call of the network gets at most `rows_at_once`
  /// states. A multiple of the network's own batch size is as fast as one large call.
  BatchEvaluator(const Domain& domain, Evaluator& network,
                 std::size_t rows_at_once = std::numeric_limits<std::size_t>::max());

  /// The network's estimates of all `states`.
  std::span<const float> Estimate(ConstRows states, const StopSignal& stop);

  /// The network's estimates of states[chosen[0]], states[chosen[1]], ...
  std::span<const float> Estimate(ConstRows states, std::span<const std::uint32_t> chosen,
                                  const StopSignal& stop);

  /// The network's estimates of all children that `expander` has made. Those that are left out are
  /// not evaluated, and their elements are unspecified.
  std::vector<float> EstimateChildren(const Expander& expander, const StopSignal& stop);

  /// The network's values of every action in every state: num_actions values per state.
  std::span<const float> EvaluateActions(ConstRows states, const StopSignal& stop);

 private:
  // Encodes states 0 to rows - 1 and evaluates them, one slice after another. Each state has
  // `width` values. encode(first, inputs) encodes states first, first + 1, ... into `inputs`.
  // state_of(i) is state i.
  template <class StateOf, class EncodeRange, class Evaluate>
  std::span<const float> InSlices(std::size_t rows, std::size_t width, const StopSignal& stop,
                                  const StateOf& state_of, const EncodeRange& encode,
                                  const Evaluate& evaluate);

  // Evaluates all `states` by evaluate(inputs, values), which gives `width` values for each.
  template <class Evaluate>
  std::span<const float> EvaluateAll(ConstRows states, std::size_t width, const StopSignal& stop,
                                     const Evaluate& evaluate);

  const Domain& domain_;
  Evaluator& network_;
  const std::size_t rows_at_once_;
  std::vector<std::uint8_t> inputs_;  // the encoded states of a slice
  std::vector<float> values_;
};

/// Throws Error that names `user` if `network` does not estimate states.
void CheckEstimatesStates(const char* user, const Evaluator& network);

/// Throws Error that names `user` if the values of actions by `network` are not `needed`.
void CheckActionValues(const char* user, const Evaluator& network, ActionValues needed);

/// Returns the error for a network whose estimate of `state` is not a number.
Error NanEstimate(const Domain& domain, std::span<const std::uint8_t> state);

/// Throws NanEstimate if one of the network's `values` is NaN. state_of(i) is the state of value i.
/// Every comparison with NaN is false, so min and max would drop it silently.
template <class StateOf>
void RejectNan(const Domain& domain, std::span<const float> values, const StateOf& state_of) {
  const auto found = std::ranges::find_if(values, [](float value) { return std::isnan(value); });
  if (found == values.end()) return;
  throw NanEstimate(domain, state_of(static_cast<std::size_t>(found - values.begin())));
}

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
