// Searches that ended without a goal, seen as searches for a state that they did reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "config/config.h"
#include "data/data_buffer.h"
#include "generate/path_labels.h"
#include "generate/search_tree.h"
#include "tandem/domain.h"

namespace tandem {

/// Hindsight turns a search that ended without a goal into one that reached its goal (Andrychowicz
/// et al., "Hindsight Experience Replay", NeurIPS 2017): the last state that the search expanded
/// gets a goal that it meets, and so do the states on the path there (Domain::MoveGoals). The path
/// ends at the first of its states that meets the goal.
///
/// The labels of these states are the costs of that path (PathLabels), which are upper bounds like
/// walk lengths. Rows that are labelled later get them as their bounds. Thread-safe for different
/// trees.
class Hindsight {
 public:
  /// `domain` must outlive this. Throws InputError if it cannot move its goals.
  Hindsight(const Domain& domain, Head head);

  /// Changes the rows of `out` that hold a state on the path to the last state of `tree`. The rows
  /// are labelled or not (ExampleSchema or StateSchema). Throws Error if MoveGoals breaks its
  /// contract.
  void MoveGoals(SearchTree& tree, DataBuffer& out) const;

 private:
  std::size_t FirstGoal(ConstRows states) const;
  void Write(std::span<const std::uint8_t> state, std::span<const Action> rest, DataBuffer& out,
             std::size_t row) const;

  const Domain& domain_;
  const Head head_;
  const PathLabels labels_;
};

}  // namespace tandem
