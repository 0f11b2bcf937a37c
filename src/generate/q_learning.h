// Examples by Q-learning: one action of each state.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "generate/bellman.h"
#include "generate/generator.h"
#include "generate/labels.h"
#include "generate/row_ranges.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"

namespace tandem {

/// QLearningGenerator labels one action of each state, as Q-learning does (Watkins, 1989; with a
/// target network as in DQN, Mnih et al., 2015): the action's cost plus the least value that the
/// target network gives to an action of the child, which is 0 if the child is a goal. The other
/// actions have weight 0.
///
/// For head q_in, the action is part of the input instead, and there are no weights. DrawAction
/// draws the actions of both.
///
/// A row thus takes one evaluation. BellmanTargets labels all actions of a state at once and takes
/// one for each, so here an evaluation more often meets a new state, and there a training step uses
/// more labels.
///
/// The states are ends of random walks. The action is uniform among all actions, also those that
/// lead back and those that do not apply: the least value of a state is taken over all of them, so
/// none may stay unlabelled. The child of an action that does not apply is its parent, and its cost
/// makes it worse than the best action.
///
/// With capped_q_learning, a label is at most the action's cost plus the cost of undoing it plus
/// the walk's way back, as with capped_value_iteration.
///
/// With generate.ball_radius, states in the ball around the goal get exact labels (for a Q net, of
/// all actions), children in it are backed up with their exact costs, estimates of other children
/// are at least the least cost outside, and some rows become anchors (ExactLabels).
class QLearningGenerator final : public Generator {
 public:
  /// `domain` and `network` must outlive this. See MakeGenerator for `config`, whose network.head
  /// must be q or q_in. `exact` may be null.
  QLearningGenerator(const Domain& domain, Evaluator& network, const Config& config,
                     std::shared_ptr<const ExactLabels> exact = nullptr);

  bool needs_network() const override { return true; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  // The states that are evaluated together, each with one action and its child.
  struct Batch {
    StateBatch states;
    std::vector<Action> actions;
  };

  void DrawState(const FillRequest& request, std::int64_t row, Batch& batch, std::size_t i) const;
  void Expand(const FillRequest& request, RowRange range, Batch& batch, DataBuffer& out) const;
  void WriteLabels(RowRange range, const Batch& batch, DataBuffer& out) const;
  void WriteLabel(const Batch& batch, std::size_t i, DataBuffer& out, std::size_t row) const;
  float LabelOf(const Batch& batch, std::size_t i) const;

  const Domain& domain_;
  const GenerateConfig config_;
  const bool capped_;
  const std::uint64_t seed_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;  // may be null
  tbb::task_arena arena_;
  std::array<Batch, 2> batches_;  // turn i uses element i % 2
};

}  // namespace tandem
