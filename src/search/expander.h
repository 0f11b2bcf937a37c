// Checks the estimates of a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/stop_signal.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// Throws Error that names the state if an estimate is NaN. Every comparison with a NaN is false,
/// so min and max would drop it silently. `state_of(i)` must return the state that values[i]
/// belongs to; the result must stay valid until the next call.
void CheckEstimates(const Domain& domain, std::span<const float> values,
                    const std::function<std::span<const std::uint8_t>(std::size_t)>& state_of);

/// The 64-bit hash (XXH3) by which searches look up states.
std::uint64_t HashState(std::span<const std::uint8_t> state);

/// Children holds the children of a batch of states and what is known about each of them. Its
/// memory is reused for the next batch.
///
/// In every array, element i * num_actions + a is the result of applying action a to state i.
class Children {
 public:
  /// `domain` must outlive this.
  explicit Children(const Domain& domain) : domain_(domain) {}

  /// The memory, in bytes, for the children of `states` states.
  static std::int64_t BytesFor(const DomainSpec& spec, std::int64_t states);

  /// Makes room for the children of `states` states.
  void Resize(std::size_t states);

  /// Makes the children of `states`, which are states first, first + 1, ... of the batch. `states`
  /// must not lie in rows(). Several threads may call this at once for different states.
  void Expand(ConstRows states, std::size_t first);

  std::size_t size() const { return is_goal_.size(); }
  ConstRows rows() const;
  std::span<const std::uint8_t> is_goal() const { return is_goal_; }

  /// 1 where the child equals its parent, for example because the action does not apply. Such a
  /// child is never worth keeping.
  std::span<const std::uint8_t> unchanged() const { return unchanged_; }

  /// HashState of each child; unspecified where unchanged() is 1.
  std::span<const std::uint64_t> hashes() const { return hashes_; }

 private:
  const Domain& domain_;
  std::vector<std::uint8_t> rows_;
  std::vector<std::uint8_t> is_goal_;
  std::vector<std::uint8_t> unchanged_;
  std::vector<std::uint64_t> hashes_;
};

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
