// Examples labelled by the length of a random walk, without a target network.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "config/config.h"
#include "generate/exact_labels.h"
#include "generate/walk_generator.h"

namespace tandem {

/// WalkLengthGenerator labels every prefix of a random walk with the cost of undoing it, which is
/// an upper bound on the true cost-to-go. Training on walk lengths follows Chervov et al.,
/// "CayleyPy", 2025.
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
/// With generate.ball_radius, rows in the ball around the goal get exact labels, and some rows
/// become anchors (ExactLabels).
class WalkLengthGenerator final : public WalkGenerator {
 public:
  /// `domain` must outlive this. See MakeGenerator for `config`. Throws InputError for a Q net if
  /// the domain's actions have no inverses. `exact` may be null.
  WalkLengthGenerator(const Domain& domain, const Config& config,
                      std::shared_ptr<const ExactLabels> exact = nullptr);

 private:
  std::optional<Action> WriteLabel(RandomWalk& walk, Random random, std::span<float> label,
                                   std::span<float> weight) const override;
  Action LabelOneAction(RandomWalk& walk, Random random, float& label) const;
  float CostOfNext(const RandomWalk& walk, Action next) const;

  const Head head_;
};

}  // namespace tandem
