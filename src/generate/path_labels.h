// Labels that a path to a goal gives its states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/config.h"
#include "data/data_buffer.h"
#include "tandem/domain.h"

namespace tandem {

/// Returns the actions that do not apply in `state`. They leave it as it is, so the value of each
/// is its cost plus the state's cost-to-go. No path takes them. If rows never labelled them either,
/// a Q net could value them least, and its estimate of a state is its least value.
std::vector<Action> IdleActions(const Domain& domain, std::span<const std::uint8_t> state);

/// PathLabels writes what a path to a goal says about one of its states:
///
/// - V net: the cost of the rest of the path.
/// - Q net: that cost, for the first action of the rest, and the value of each idle action. The
///   others have weight 0.
/// - Head q_in: that cost, for the first action, which is part of the input.
/// - Policy: the first action. If all actions commute and undo themselves
///   (CommuteAndUndoThemselves), each action of the rest could be the first, so they share the
///   probability, without those that the rest takes an even number of times.
/// - Head vp: the cost and what a policy learns.
///
/// An idle action is one that does not apply (IdleActions). A label is an upper bound of the true
/// cost, and exact if the path is a cheapest one. All methods are thread-safe for different rows.
class PathLabels {
 public:
  /// `domain` must outlive this.
  PathLabels(const Domain& domain, Head head);

  /// Writes an example to row `row` of `out` (ExampleSchema): `state`, and what the actions `rest`,
  /// which lead from it to a goal, say about it.
  ///
  /// A goal, for which `rest` is empty, has no first action: only idle ones have a weight in a Q
  /// net, and all probabilities of a policy are 0. A row of head q_in must have an action; it takes
  /// the first one, which is right if no action leaves the goal.
  void Write(std::span<const std::uint8_t> state, std::span<const Action> rest, DataBuffer& out,
             std::size_t row) const;

 private:
  void WriteLabel(std::span<const std::uint8_t> state, std::span<const Action> rest,
                  DataBuffer& out, std::size_t row) const;
  void WritePolicy(std::span<const Action> rest, std::span<float> policy) const;

  const Domain& domain_;
  const Head head_;
  const bool order_matters_;
};

}  // namespace tandem
