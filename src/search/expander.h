// What every search asks of the simulator and of the network, for many states at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "search/children.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Expands a batch of states and estimates those children that a search chooses. All that it
/// returns stays valid until the next call of the same method; memory is kept for the next.
///
/// Expansion and encoding use the TBB threads of the arena it is called in; the evaluator is called
/// from the calling thread, so never call Estimate inside a TBB task.
class Expander {
 public:
  /// `domain` and `evaluator` must outlive this. The evaluator gets at most `evaluate_rows` states
  /// at once; a multiple of its own batches costs nothing.
  Expander(const Domain& domain, Evaluator& evaluator, std::size_t evaluate_rows);

  /// Makes the children of `states`, which may be anything but the children of the last call.
  void Expand(ConstRows states);

  /// All that is known of them; the four that follow are its parts.
  const Children& expanded() const { return children_; }
  ConstRows children() const { return children_.rows(); }
  std::span<const std::uint8_t> is_goal() const { return children_.is_goal(); }
  std::span<const std::uint8_t> unchanged() const { return children_.unchanged(); }
  std::span<const std::uint64_t> hashes() const { return children_.hashes(); }

  /// The evaluator's estimates for states[chosen[0]], states[chosen[1]], ... Throws Stopped once
  /// `stop` is reached, Error that names the state if an estimate is not a number.
  std::span<const float> Estimate(ConstRows states, std::span<const std::uint32_t> chosen,
                                  const StopSignal& stop);

  /// What `q_net` says of every action in every state: num_actions values for each. Throws as
  /// Estimate.
  std::span<const float> EstimateActions(QEvaluator& q_net, ConstRows states,
                                         const StopSignal& stop);

 private:
  // Calls encode(first, inputs) and evaluate(inputs, values) slice by slice; `width` values a row.
  template <class Encode, class Evaluate>
  std::span<const float> InSlices(std::size_t rows, std::size_t width, const StopSignal& stop,
                                  const Encode& encode, const Evaluate& evaluate);

  const Domain& domain_;
  Evaluator& evaluator_;
  const std::size_t evaluate_rows_;

  Children children_;
  std::vector<std::uint8_t> inputs_;  // of one evaluation
  std::vector<float> values_;
};

}  // namespace tandem
