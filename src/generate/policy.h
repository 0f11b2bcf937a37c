// Examples labelled with the action to take, for a policy.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "config/config.h"
#include "generate/exact_labels.h"
#include "generate/walk_generator.h"

namespace tandem {

/// The kind of walks whose actions become labels: with distinct actions if all actions commute and
/// undo themselves, because any of them is then a first step of the way back. Throws InputError if
/// such a walk of generate.max_scramble actions would need more actions than there are.
WalkKind WalkKindOfActions(const Domain& domain, const GenerateConfig& config);

/// PolicyGenerator labels every prefix of a random walk with its last step, undone, as
/// EfficientCube does (Takano, "Self-Supervision is All You Need for Solving Rubik's Cube", TMLR
/// 2023). The label is a distribution over the actions, here with a single 1.
///
/// If all actions commute and undo themselves (CommuteAndUndoThemselves), such as the buttons of
/// Lights Out, every action of the walk is a first step of the way back, and which one came last
/// says nothing. Walks then take distinct actions, and the label is uniform over those taken, as in
/// EfficientCube.
///
/// A row has no label, but zeros, which add nothing to the loss, if the walk cannot leave the goal
/// or if the action that undoes its last step changes nothing. Where labels of a puzzle repeat,
/// such as colours, a move may exchange equal ones.
///
/// For head vp, the label also has the cost of undoing the walk (WalkLengthGenerator), as its first
/// number.
///
/// With generate.ball_radius, rows in the ball around the goal get exact labels, and some rows
/// become anchors (ExactLabels).
class PolicyGenerator final : public WalkGenerator {
 public:
  /// `domain` must outlive this. See MakeGenerator for `config`; network.head must be policy or vp.
  /// `exact` may be null. Throws the same errors as WalkKindOfActions.
  PolicyGenerator(const Domain& domain, const Config& config,
                  std::shared_ptr<const ExactLabels> exact = nullptr);

 private:
  PolicyGenerator(const Domain& domain, const Config& config, WalkKind kind,
                  std::shared_ptr<const ExactLabels> exact);
  std::optional<Action> WriteLabel(RandomWalk& walk, Random random, std::span<float> label,
                                   std::span<float> weight) const override;
  bool UndoHasEffect(const RandomWalk& walk) const;

  const WalkKind kind_;
  const bool has_value_;
};

}  // namespace tandem
