// Generators whose rows are the states along random walks, labelled by the walks themselves.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "domain/random_walks.h"
#include "generate/generator.h"
#include "generate/labels.h"
#include "generate/row_ranges.h"

namespace tandem {

/// WalkRows says after how many actions of a random walk a row is taken from it. Global row r
/// belongs to walk r / rows_per_walk(). A walk of generate.max_scramble actions is cut into as many
/// parts as it has rows, of about equal lengths, and each row is the state after an action that is
/// drawn from its part. Rows of one walk are therefore in ascending order, and all depths are about
/// equally frequent.
///
/// States of one walk resemble each other, and a network that sees many of them learns the walk
/// rather than the puzzle. So generate.rows_per_walk takes few rows of a long walk (Agostinelli et
/// al. 2019, DeepCubeA, take one).
class WalkRows {
 public:
  explicit WalkRows(const Config& config)
      : seed_(config.random_seed()),
        length_(config.generate.max_scramble),
        rows_per_walk_(config.generate.rows_of_walk()) {}

  /// The number of actions of a walk.
  std::int64_t length() const { return length_; }

  std::int64_t rows_per_walk() const { return rows_per_walk_; }

  /// The number of actions, from 1 to length(), after which row `row` of an update is taken.
  std::int64_t Depth(std::int64_t update, std::int64_t row) const;

 private:
  const std::uint64_t seed_;
  const std::int64_t length_;
  const std::int64_t rows_per_walk_;
};

/// The kind of walks whose actions become labels: with distinct actions if all actions commute and
/// undo themselves, because any of them is then a first step of the way back. Throws InputError if
/// such a walk of generate.max_scramble actions would need more actions than there are.
WalkKind WalkKindOfActions(const Domain& domain, const GenerateConfig& config);

/// WalkGenerator makes examples of prefixes of random walks from a goal, labelled by the walks
/// themselves. WalkRows says which prefixes become rows. Training on all of them follows Takano,
/// "Self-Supervision is All You Need for Solving Rubik's Cube", TMLR 2023.
///
/// The cost of undoing a walk is an upper bound on the true cost-to-go. It is the label of a V net
/// (Chervov et al., "CayleyPy", 2025).
///
/// For a Q net, the label of an action is its cost plus the cost of the way back from its child. A
/// walk knows that for the action that undoes its last step, for its own next step, and for the
/// idle actions of the state (IdleActions). Only these have weight 1; all others are masked.
/// Labelling them as if they led away from the goal would be wrong wherever moves commute, and
/// would flatten the ranking of a state's actions. The sparse labels follow
/// AnanasClassic/cayleypy-training-core.
///
/// For head q_in, whose input has an action, each row labels one of them, drawn at random: an idle
/// action in a third of the rows of states that have any.
///
/// The label of a policy is the walk's last step, undone, as in EfficientCube (Takano): a
/// distribution over the actions, here with a single 1. If all actions commute and undo themselves
/// (CommuteAndUndoThemselves), such as the buttons of Lights Out, every action of the walk is a
/// first step of the way back, and which one came last says nothing. Walks then take distinct
/// actions, and the label is uniform over those taken. A row has no label, but zeros, which add
/// nothing to the loss, if the walk cannot leave the goal or if the action that undoes its last
/// step changes nothing. Where labels of a puzzle repeat, such as colours, a move may exchange
/// equal ones. Head vp learns what a V net and a policy learn.
///
/// With generate.ball_radius, rows in the ball around the goal get exact labels, and some rows
/// become anchors (ExactLabels).
///
/// Blocks of walks advance in lock step (RandomWalks). A row does not depend on the size of blocks.
class WalkGenerator final : public Generator {
 public:
  /// `domain` must outlive this. See MakeGenerator for `config`. `exact` may be null. Throws
  /// InputError for a Q net if the domain's actions have no inverses, and for a policy the same
  /// errors as WalkKindOfActions.
  WalkGenerator(const Domain& domain, const Config& config,
                std::shared_ptr<const ExactLabels> exact = nullptr);

  bool needs_network() const override { return false; }
  const Schema& schema() const override { return schema_; }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override;

 private:
  // A row of a block of walks.
  struct Due {
    std::size_t walk;  // in the block
    std::size_t row;   // in the block
  };

  void FillBlock(const FillRequest& request, RowRange block, DataBuffer& out) const;
  void TakeWalks(const FillRequest& request, RowRange block, Rows states, std::span<Action> actions,
                 DataBuffer& out) const;
  std::vector<std::uint8_t> UndoHasEffect(const RandomWalks& walks, std::span<const Due> due) const;
  void WriteLabel(const RandomWalks& walks, std::size_t walk, bool undo_has_effect, DataBuffer& out,
                  std::size_t row) const;
  void LabelKnownActions(const RandomWalks& walks, std::size_t walk, std::span<float> label,
                         std::span<float> weight) const;
  Action LabelOneAction(const RandomWalks& walks, std::size_t walk, Random& random,
                        float& label) const;
  void WritePolicy(const RandomWalks& walks, std::size_t walk, bool undo_has_effect,
                   std::span<float> policy) const;
  float CostOfNext(const RandomWalks& walks, std::size_t walk, Action next) const;

  const Domain& domain_;
  const GenerateConfig config_;
  const Head head_;
  const WalkRows rows_;
  const WalkKind kind_;
  const std::uint64_t seed_;
  const Schema schema_;
  const std::shared_ptr<const ExactLabels> exact_;  // may be null
  tbb::task_arena arena_;
};

}  // namespace tandem
