// Batched expansion and evaluation of states, shared by all searches.
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

/// Expander expands a batch of states and evaluates the children that a search chooses. A returned
/// span stays valid until the next call of the same method; the memory is reused.
///
/// Not thread-safe. Expansion and encoding use the TBB threads of the caller's arena. The evaluator
/// is called on the calling thread and may block, so never call Estimate inside a TBB task.
class Expander {
 public:
  /// `domain` and `evaluator` must outlive this. The evaluator gets at most `evaluate_rows` states
  /// per call. A multiple of the evaluator's own batch size is as fast as one large call.
  Expander(const Domain& domain, Evaluator& evaluator, std::size_t evaluate_rows);

  /// Makes the children of `states`. `states` must not lie in children(), which is overwritten.
  void Expand(ConstRows states);

  /// The children that Expand made. The four accessors below return parts of it.
  const Children& expanded() const { return children_; }
  ConstRows children() const { return children_.rows(); }
  std::span<const std::uint8_t> is_goal() const { return children_.is_goal(); }
  std::span<const std::uint8_t> unchanged() const { return children_.unchanged(); }
  std::span<const std::uint64_t> hashes() const { return children_.hashes(); }

  /// The evaluator's estimates for states[chosen[0]], states[chosen[1]], ... Throws Stopped once
  /// `stop` is reached, Error that names the state if an estimate is not a number.
  std::span<const float> Estimate(ConstRows states, std::span<const std::uint32_t> chosen,
                                  const StopSignal& stop);

  /// The Q values from `q_net` for every action in every state: num_actions values per state.
  /// Throws like Estimate.
  std::span<const float> EstimateActions(QEvaluator& q_net, ConstRows states,
                                         const StopSignal& stop);

 private:
  // Calls encode(first, inputs) and evaluate(inputs, values) for one slice after another. Each row
  // has `width` values.
  template <class Encode, class Evaluate>
  std::span<const float> InSlices(std::size_t rows, std::size_t width, const StopSignal& stop,
                                  const Encode& encode, const Evaluate& evaluate);

  const Domain& domain_;
  Evaluator& evaluator_;
  const std::size_t evaluate_rows_;

  Children children_;
  std::vector<std::uint8_t> inputs_;  // encoded states of one slice
  std::vector<float> values_;
};

}  // namespace tandem
