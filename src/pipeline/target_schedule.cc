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
  const bool is_nth = updates % config_.refresh_every == 0;
  switch (config_.refresh) {
    case Refresh::kLoss:
      return is_nth && (!config_.loss_thresh || state_.last_loss <= *config_.loss_thresh);
    case Refresh::kEvery:
      return is_nth;
    case Refresh::kSolveRate:
      return state_.solve_rate > state_.rate_at_refresh + config_.refresh_margin;
  }
  return true;
}

}  // namespace tandem
