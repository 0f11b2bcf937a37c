// Examples with exact labels, from searches backwards from the goals of random problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/node_table.h"
#include "tandem/domain.h"

namespace tandem {

/// RetrogradeTable finds all states of a problem from which a goal can be reached, with their exact
/// costs-to-go, by breadth-first search backwards from all its goals (retrograde analysis, as for
/// the endgames of chess). All actions must cost the same. Not thread-safe.
class RetrogradeTable {
 public:
  /// `domain` must outlive this. Throws InputError if its actions cost differently, or if it does
  /// not know the predecessors of states.
  explicit RetrogradeTable(const Domain& domain);

  /// Finds the states of the problem of `goal`, a goal from Domain::DrawGoals, and forgets those
  /// before. Returns false if there are more than `most_states`; the table is then unspecified.
  /// Throws Error if Domain::AllGoals lacks a goal.
  bool Build(std::span<const std::uint8_t> goal, std::size_t most_states);

  std::size_t size() const { return nodes_.size(); }

  /// The greatest number of actions that a cheapest solution of a state takes.
  std::size_t longest() const { return ends_.size() - 1; }

  /// The number of the first state whose cheapest solutions take `actions` actions, at most
  /// longest() + 1. States are numbered in the order of their costs, so those that take as many
  /// end before First(actions + 1). There is at least one for each number up to longest().
  std::uint32_t First(std::size_t actions) const {
    return actions == 0 ? 0 : static_cast<std::uint32_t>(ends_[actions - 1]);
  }

  std::span<const std::uint8_t> state(std::uint32_t number) const { return nodes_.state(number); }

  /// Whether a goal can be reached from `state`, which is a state of the problem.
  bool Contains(std::span<const std::uint8_t> state) const;

 private:
  void AddNewOfPredecessors();
  void RejectGoals(std::size_t first);

  const Domain& domain_;
  std::size_t at_once_;                     // states whose predecessors are looked up together
  NodeTable nodes_;                         // in the order of their costs
  std::vector<std::size_t> ends_;           // the number of nodes that need at most n actions
  std::vector<std::uint8_t> states_;        // of some nodes
  std::vector<std::uint8_t> predecessors_;  // of states_
  std::vector<std::uint64_t> hashes_;       // of the predecessors
  std::vector<std::uint8_t> added_;         // the states of RejectGoals
  std::vector<std::uint8_t> is_goal_;       // of added_
};

}  // namespace tandem
