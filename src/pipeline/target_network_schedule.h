// When the target network is refreshed, and how old it was when it labelled a buffer.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "generate/generator.h"
#include "pipeline/trainer.h"

namespace tandem {

/// TargetState is the part of a run's state that concerns the target network's refreshes.
struct TargetState {
  std::int64_t offered = 0;    ///< completed updates when a refresh was last due
  std::int64_t published = 0;  ///< completed updates when the network was last copied
  double last_loss = 0;        ///< mean loss of the latest update
};

/// TargetNetworkSchedule refreshes the target network, unless loss_thresh forbids it, and records
/// for each buffer which weights labelled it. Not thread-safe.
class TargetNetworkSchedule {
 public:
  /// `trainer` must outlive this object. Without `loss_thresh`, Offer always copies the network.
  TargetNetworkSchedule(const Generator& generator, Trainer& trainer,
                        std::optional<double> loss_thresh, TargetState state)
      : needs_network_(generator.needs_network()),
        most_loss_(loss_thresh.value_or(std::numeric_limits<double>::infinity())),
        trainer_(trainer),
        state_(state) {}

  /// Call when a refresh is due and `updates` updates are complete. Copies the network to the
  /// target network unless the latest loss was above loss_thresh. No fill may be using the target
  /// network. Does nothing if the generator needs no network.
  void Offer(std::int64_t updates) {
    if (!needs_network_) return;
    state_.offered = updates;
    if (updates > 0 && state_.last_loss > most_loss_) return;
    trainer_.PublishTarget();
    state_.published = updates;
  }

  /// Call after each update.
  void Trained(double mean_loss) { state_.last_loss = mean_loss; }

  /// Call before the rows of `update` are labelled: when their fill starts or, in sync_main, just
  /// before training on them.
  void LabellingStarts(std::int64_t update) { labelled_by_[update % 2] = state_; }

  /// LagOf is the intended policy lag of buffer `update`, in updates: the age of the last refresh
  /// that was due. AgeOf is the actual policy lag: the age of the weights that labelled the buffer,
  /// which is larger if loss_thresh skipped refreshes. Both are 0 if the generator needs no
  /// network. They are known for the last two buffers.
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
  std::array<TargetState, 2> labelled_by_;  // at [update % 2]
};

}  // namespace tandem
