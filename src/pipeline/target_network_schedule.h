// Keeps the books of which network labelled which buffer.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "generate/generator.h"
#include "pipeline/trainer.h"

namespace tandem {

/// What must be known of the target network to go on after a number of updates.
struct TargetState {
  std::int64_t offered = 0;    ///< updates that the network had had when it was last to be copied
  std::int64_t published = 0;  ///< and when it was copied indeed
  double last_loss = 0;        ///< mean loss of the last update
};

class TargetNetworkSchedule {
 public:
  /// Without `loss_thresh`, every network that is offered is copied.
  TargetNetworkSchedule(const Generator& generator, Trainer& trainer,
                        std::optional<double> loss_thresh, TargetState state)
      : needs_network_(generator.needs_network()),
        most_loss_(loss_thresh.value_or(std::numeric_limits<double>::infinity())),
        trainer_(trainer),
        state_(state) {}

  /// Offers the network as it is after `updates` updates. Nothing may be asking the target network.
  void Offer(std::int64_t updates) {
    if (!needs_network_) return;
    state_.offered = updates;
    if (updates > 0 && state_.last_loss > most_loss_) return;
    trainer_.PublishTarget();
    state_.published = updates;
  }

  /// Call when an update has been trained.
  void Trained(double mean_loss) { state_.last_loss = mean_loss; }

  /// Call when the rows of `update` begin to be labelled: where its fill starts, or in sync_main
  /// just before it is trained on.
  void LabellingStarts(std::int64_t update) { labelled_by_[update % 2] = state_; }

  /// How many updates buffer `update` trails the network that it was made for; 0, both, for
  /// generators that ask no network. The age also counts networks that were not good enough.
  std::int64_t LagOf(std::int64_t update) const {
    return needs_network_ ? update - labelled_by_[update % 2].offered : 0;
  }
  std::int64_t AgeOf(std::int64_t update) const {
    return needs_network_ ? update - labelled_by_[update % 2].published : 0;
  }

  const TargetState& state() const { return state_; }

 private:
  bool needs_network_;
  double most_loss_;
  Trainer& trainer_;
  TargetState state_;
  std::array<TargetState, 2> labelled_by_;
};

}  // namespace tandem
