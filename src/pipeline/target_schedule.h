// The schedule by which the target network takes the weights of the network being trained.
#pragma once

#include <array>
#include <cstdint>

#include "config/config.h"
#include "pipeline/update.h"

namespace tandem {

/// WeightsPublisher hands weights to generators in other processes. Call it from the main thread
/// only.
class WeightsPublisher {
 public:
  virtual ~WeightsPublisher() = default;

  /// Publishes the weights that label examples now, after `updates` updates.
  virtual void Publish(std::int64_t updates) = 0;
};

/// TargetState is the part of a run's state that concerns the target network's refreshes.
struct TargetState {
  std::int64_t offered = 0;    ///< completed updates when a refresh was last possible
  std::int64_t refreshed = 0;  ///< completed updates when the network was last copied
  double last_loss = 0;        ///< mean loss of the latest update
  double solve_rate = 0;       ///< in the latest validation that was due
  double rate_at_refresh = 0;  ///< solve_rate when the network was last copied
};

/// TargetNetworkSchedule refreshes the target network by the rule of section `pipeline`, and
/// records for each buffer which weights labelled it. Not thread-safe.
///
/// - refresh_every alone: the target network of DQN (Mnih et al., 2015).
/// - loss_thresh: DeepCubeA compares the loss with a threshold every N iterations (Agostinelli et
///   al., 2019).
/// - solve_rate_margin: DeepXube can test by searching whether to refresh the target network
///   (targ_up_searches).
class TargetNetworkSchedule {
 public:
  /// `trainer` and `publisher` must outlive this object. With `publisher`, publishes the weights at
  /// each refresh, also if this process has no target network.
  TargetNetworkSchedule(bool needs_network, Trainer& trainer, const PipelineConfig& config,
                        const TargetState& state, WeightsPublisher* publisher = nullptr)
      : needs_network_(needs_network),
        trainer_(trainer),
        publisher_(publisher),
        config_(config),
        state_(state) {}

  /// Call when the mode allows a refresh and `updates` updates are complete. Copies the network to
  /// the target network if the rule says so; before the first update it always does. No fill may
  /// be using the target network. Does nothing if no target network is needed.
  void RefreshIfDue(std::int64_t updates);

  /// Call after each update.
  void OnUpdate(double mean_loss) { state_.last_loss = mean_loss; }

  /// Call after each validation that was due, when `updates` updates are complete. Before the first
  /// update, the target network has the weights that were validated.
  void OnValidation(std::int64_t updates, double solve_rate) {
    state_.solve_rate = solve_rate;
    if (updates == 0) state_.rate_at_refresh = solve_rate;
  }

  /// Call before the rows of `update` are labelled: when their fill starts or, in sync_main, just
  /// before training on them.
  void OnLabelling(std::int64_t update) { labelled_by_[update % 2] = state_; }

  /// LagOf is the intended policy lag of buffer `update`, in updates: the age of the last refresh
  /// that the mode allowed. AgeOf is the actual policy lag: the age of the weights that labelled
  /// the buffer, which is larger if the rule skipped refreshes. Both are 0 if no target network is
  /// needed. They are known for the last two buffers.
  std::int64_t LagOf(std::int64_t update) const {
    return needs_network_ ? update - labelled_by_[update % 2].offered : 0;
  }
  std::int64_t AgeOf(std::int64_t update) const {
    return needs_network_ ? update - labelled_by_[update % 2].refreshed : 0;
  }

  const TargetState& state() const { return state_; }

 private:
  bool RefreshIsDue(std::int64_t updates) const;

  bool needs_network_;
  Trainer& trainer_;
  WeightsPublisher* const publisher_;
  const PipelineConfig config_;
  TargetState state_;
  std::array<TargetState, 2> labelled_by_;  // at [update % 2]
};

}  // namespace tandem
