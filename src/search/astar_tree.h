// The state of one puzzle's A* search between the steps that many puzzles take together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/stopwatch.h"
#include "config/config.h"
#include "search/expander.h"
#include "search/node_table.h"
#include "search/search.h"

namespace tandem {

/// AStarOptions are the options of A*, for AStar and AStarTree.
struct AStarOptions {
  float weight = 1;           ///< factor of the path cost in weight * cost + estimate; >= 0
  std::size_t batch = 1;      ///< most states of one puzzle that a step expands; a search starts
                              ///< with one and widens as it grows
  std::size_t instances = 1;  ///< puzzles searched at the same time
  std::size_t max_nodes = 0;  ///< limit on distinct states stored per puzzle; 0: no limit
  double max_seconds = 0;     ///< time limit per puzzle, checked once per step; 0: no limit
  std::size_t evaluate_rows =
      InferenceConfig{}.batch_size;  ///< most states per call of the evaluator
};

/// AStarTree holds the A* search of one puzzle. Each step is three calls, in this order: Pop,
/// Receive, SetEstimates. One tree must not be used by two threads at once; different trees may.
class AStarTree {
 public:
  /// `spec` and `options` must outlive this. The time limit `max_seconds` starts here.
  AStarTree(const DomainSpec& spec, const AStarOptions& options,
            std::span<const std::uint8_t> start, bool start_is_goal);

  /// Sets the estimate of the start state. Must be called before the first step unless the start is
  /// a goal. Negative estimates count as 0, here and in SetEstimates.
  void SetStartEstimate(float estimate);

  /// True once the search has ended. From then on the calls of a step have no effect.
  bool ended() const { return ended_.has_value(); }

  /// Chooses the states to expand next, or ends the search.
  void Pop();

  /// The number of states that Pop chose.
  std::size_t num_popped() const { return popped_.size(); }
  /// The actions of the cheapest known path from the start to popped state i.
  std::vector<Action> PathToPopped(std::size_t i) const { return PathTo(popped_[i]); }
  /// Copies the popped states to `into`, which has num_popped() rows.
  void CopyPopped(Rows into) const;

  /// Adds the children of the popped states. They are the num_popped() * num_actions children of
  /// `step` from index `first` on.
  void Receive(const Children& step, std::size_t first);

  /// The children that were stored for the first time, as indices into `step`. They need estimates.
  std::span<const std::uint32_t> fresh() const { return fresh_; }
  /// Sets the estimates of fresh(), in that order.
  void SetEstimates(std::span<const float> estimates);

  /// Requires ended().
  SearchResult Result() const;

 private:
  struct Goal {
    std::uint32_t parent;
    Action action;
    float cost;
  };

  float ValueOf(const NodeTable::Node& node) const {
    return options_.weight * node.cost + node.estimate;
  }
  std::size_t CurrentBatch() const;
  bool CanImprove(float value) const;
  void AddChild(const Children& step, std::size_t child, std::uint32_t parent, Action action);
  void LowerCost(std::uint32_t node, std::uint32_t parent, Action action, float cost);
  void Open(std::uint32_t node);
  std::vector<Action> PathTo(std::uint32_t node) const;

  const DomainSpec& spec_;
  const AStarOptions& options_;
  const Stopwatch watch_;

  NodeTable nodes_;
  OpenList open_;              // a node is pushed again each time its value falls
  std::optional<Goal> goal_;   // the cheapest goal found; goals are not stored in nodes_
  std::uint32_t nearest_ = 0;  // the node with the least estimate
  bool full_ = false;          // a state was dropped because of max_nodes
  std::optional<Ended> ended_;
  std::int64_t generated_ = 0;
  std::int64_t expanded_ = 0;

  // The current step.
  std::vector<std::uint32_t> popped_;
  std::vector<std::uint32_t> fresh_;
  std::uint32_t first_fresh_ = 0;  // node of fresh_[0]; fresh_[i] is node first_fresh_ + i
};

}  // namespace tandem
