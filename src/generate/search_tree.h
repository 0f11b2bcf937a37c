// The states that one search expanded, and what their labels can learn from each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "data/data_buffer.h"
#include "generate/bellman.h"
#include "generate/labels.h"
#include "tandem/domain.h"

namespace tandem {

/// SearchTree keeps the states that one search expanded and the backups of their actions. Once the
/// search has ended, it changes these backups by what the search found out about the states behind
/// the children. A state that was expanded more than once is one node. Two nodes are linked if an
/// action leads from one to the other, whichever way the search went. States are compared by all
/// their bytes.
///
/// One tree must not be used by two threads at once; different trees may.
class SearchTree {
 public:
  /// A row of the output and the node whose state it holds.
  struct Row {
    std::size_t row;
    std::uint32_t node;
  };

  /// One step of a path: the node and the action that leaves it.
  struct Step {
    std::uint32_t node;
    Action action;
  };

  /// Whether a generator of this config must keep trees.
  static bool IsNeeded(const GenerateConfig& config) {
    return config.backup != Backup::kOneStep || config.hindsight;
  }

  /// `domain` must outlive this. For a Q net every action keeps a finite backup.
  SearchTree(const Domain& domain, Head head) : domain_(domain), head_(head) {}

  /// Removes all states.
  void Clear();

  /// Adds state i of `batch`, whose children must have estimates, with its backups
  /// (BellmanTargets). `row` is the row of the output that holds the state, if any. The first state
  /// is the root.
  void Add(const StateBatch& batch, std::size_t i, const StateBackup& backup,
           std::optional<std::size_t> row);

  bool empty() const { return nodes_.empty(); }
  std::span<const Row> rows() const { return rows_; }
  std::span<const std::uint8_t> state(std::uint32_t node) const {
    return std::span(states_).subspan(node * state_size(), state_size());
  }

  /// The backups of a node, as they are now.
  const StateBackup& backup(std::uint32_t node) const { return nodes_[node]; }

  /// Whether the search has reached a state whose cost-to-go is known, such as a goal.
  bool solved() const { return solved_; }

  /// Backs up the estimates of the children that the search did not expand over all its states.
  /// This is limited-horizon Bellman learning (arXiv 2511.10264), DeepXube's backup lhbl: the
  /// backup of an action that leads to another node becomes the action's cost plus that node's
  /// value, which is the least backup of its actions. A value is at most the node's bound, and the
  /// known cost-to-go if there is one.
  ///
  /// If no way out of a part of the tree exists, its states keep their own backups. An action that
  /// leads there from elsewhere counts as infinite for a V net.
  void BackUpTree();

  /// If the search reached a goal, lowers the backup of each action on the cheapest path from the
  /// root to a goal to the cost of the path from there. A solution bounds the cost-to-go of its
  /// states from above. Does nothing if the search reached no goal.
  void BackUpSolution();

  /// The cheapest path from the root to the state that was added last, which is the node of its
  /// last element; the action of that element has no meaning. Empty if the search has not left the
  /// root, or if the tree has no such path.
  std::vector<Step> PathToLast();

 private:
  static constexpr std::uint32_t kNotExpanded = UINT32_MAX;

  std::size_t num_actions() const { return static_cast<std::size_t>(domain_.spec().num_actions()); }
  std::size_t state_size() const { return static_cast<std::size_t>(domain_.spec().state_size); }

  void Link();
  float CostBy(std::span<const float> values, std::span<const float> leaves, std::uint32_t node,
               std::size_t action) const;
  void LowerValues(std::span<float> values, std::span<const float> leaves,
                   std::span<const std::uint8_t> fixed) const;
  std::vector<Step> CheapestPath(std::span<const float> values,
                                 std::span<const float> leaves) const;
  std::vector<std::uint8_t> HasKnownCost() const;

  const Domain& domain_;
  const Head head_;
  bool solved_ = false;
  std::uint32_t last_ = 0;
  std::vector<StateBackup> nodes_;
  std::vector<std::uint8_t> states_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
  std::vector<Row> rows_;

  // One element per node and action.
  std::vector<float> exits_;           // action's cost plus the child's known cost, or infinity
  std::vector<std::uint64_t> hashes_;  // of the children; the state's own if it is unchanged
  std::vector<std::uint32_t> child_nodes_;  // kNotExpanded: the child is not in the tree
};

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
  void Write(ConstRows states, std::span<const PathRow> paths, DataBuffer& out) const;

  const Domain& domain_;
  const Head head_;
  const PathLabels labels_;
};

}  // namespace tandem
