// The A* search of one puzzle: what it knows between the steps that many puzzles take together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/stopwatch.h"
#include "config/train_config.h"
#include "search/children.h"
#include "search/node_table.h"
#include "search/open_list.h"
#include "search/search.h"

namespace tandem {

struct AStarOptions {
  float weight = 1;           ///< of the path's cost in weight * cost + estimate; 0 and up
  std::size_t batch = 1;      ///< most states of one puzzle expanded at a time; a search begins
                              ///< with one and widens as it grows
  std::size_t instances = 1;  ///< puzzles searched at a time
  std::size_t max_nodes = 0;  ///< different states stored for one puzzle; 0: no limit
  double max_seconds = 0;     ///< for one puzzle, looked at once a step; 0: no limit
  std::size_t evaluate_rows =
      EvaluateConfig{}.batch_rows;  ///< states that the evaluator gets at once
};

/// One puzzle's search, in steps of three calls: Pop, Receive, SetEstimates. Different trees may be
/// used by different threads at once.
class AStarTree {
 public:
  /// `spec` and `options` must outlive this. The clock of `max_seconds` starts here.
  AStarTree(const DomainSpec& spec, const AStarOptions& options,
            std::span<const std::uint8_t> start, bool start_is_goal);

  /// Must come first, unless the start is a goal. Negative estimates count as 0, here and later.
  void SetStartEstimate(float estimate);

  /// Once true, the calls of a step do nothing.
  bool ended() const { return ended_.has_value(); }

  /// Chooses the states to expand next, or ends the search.
  void Pop();

  /// The states chosen, the cheapest known path to each, and a copy of them.
  std::size_t num_popped() const { return popped_.size(); }
  std::vector<Action> PathToPopped(std::size_t i) const { return PathTo(popped_[i]); }
  void CopyPopped(Rows into) const;

  /// Takes in their children: those that `step` has from number `first` on.
  void Receive(const Children& step, std::size_t first);

  /// Those of the children, by their numbers in `step`, that must be estimated: the new ones.
  std::span<const std::uint32_t> fresh() const { return fresh_; }
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
  std::size_t BatchNow() const;
  bool Promising(float value) const;
  void Meet(const Children& step, std::size_t child, std::uint32_t parent, Action action);
  void Improve(std::uint32_t node, std::uint32_t parent, Action action, float cost);
  void Open(std::uint32_t node);
  std::vector<Action> PathTo(std::uint32_t node) const;

  const DomainSpec& spec_;
  const AStarOptions& options_;
  const Stopwatch watch_;

  NodeTable nodes_;
  OpenList open_;              // a node stands in it again each time that its value falls
  std::optional<Goal> goal_;   // the cheapest met; goals are not among nodes_
  std::uint32_t nearest_ = 0;  // of least estimate
  bool full_ = false;          // a state was dropped for want of room
  std::optional<Ended> ended_;
  std::int64_t generated_ = 0;
  std::int64_t expanded_ = 0;

  // Of the step in hand.
  std::vector<std::uint32_t> popped_;
  std::vector<std::uint32_t> fresh_;
  std::uint32_t first_fresh_ = 0;  // the node of fresh_[0]; the others follow
};

}  // namespace tandem
