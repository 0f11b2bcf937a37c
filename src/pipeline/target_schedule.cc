#include "pipeline/target_schedule.h"

namespace tandem {

void TargetNetworkSchedule::RefreshIfDue(std::int64_t updates) {
  if (!needs_network_ && publisher_ == nullptr) return;
  state_.offered = updates;
  if (updates > 0 && !RefreshIsDue(updates)) return;
  if (needs_network_) trainer_.RefreshTarget();
  if (publisher_ != nullptr) publisher_->Publish(updates);
  state_.refreshed = updates;
  state_.rate_at_refresh = state_.solve_rate;
}

bool TargetNetworkSchedule::RefreshIsDue(std::int64_t updates) const {
  if (config_.solve_rate_margin) {
    return state_.solve_rate > state_.rate_at_refresh + *config_.solve_rate_margin;
  }
  if (updates % config_.refresh_every != 0) return false;
  return !config_.loss_thresh || state_.last_loss <= *config_.loss_thresh;
}

}  // namespace tandem
