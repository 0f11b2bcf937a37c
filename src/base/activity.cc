#include "base/activity.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

// In the order of Activity.
constexpr std::array<std::string_view, kNumActivities> kNames = {
    "unnamed", "idle", "set_up",
    // Generation.
    "generate", "scramble", "expand", "evaluate", "back_up", "write", "wait_for_workers",
    "wait_for_inference", "wait_for_free_slot",
    // Making batches.
    "shuffle", "gather", "host_to_device", "wait_for_room",
    // Reading shards.
    "disk_load", "wait_for_chunk", "gpu_transfer", "gpu_queue_wait",
    // Training.
    "wait_for_rows", "serve", "replay", "wait_for_batch", "forward", "backward", "clip_gradients",
    "optimizer", "wait_for_device", "reduce", "wait_for_ranks", "refresh_target", "publish",
    // Between updates.
    "keep_state", "validation", "checkpoint", "report"};
static_assert(!kNames.back().empty(), "an activity has no name");

}  // namespace

std::string_view ActivityName(Activity activity) {
  return kNames[static_cast<std::size_t>(activity)];
}

std::optional<Activity> ActivityNamed(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Activity>(found - kNames.begin());
}

bool IsWait(Activity activity) {
  return activity == Activity::kIdle || activity == Activity::kGpuQueueWait ||
         ActivityName(activity).starts_with("wait_");
}

double ActivityTimes::Sum() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) - (*this)[Activity::kUnnamed];
}

double ActivityTimes::Work() const {
  double work = Sum();
  for (std::size_t i = 0; i < kNumActivities; ++i) {
    if (IsWait(static_cast<Activity>(i))) work -= seconds[i];
  }
  return work;
}

double ActivityTimes::WaitForOthers() const {
  return (*this)[Activity::kWaitForRows] + (*this)[Activity::kGpuQueueWait] +
         (*this)[Activity::kWaitForRanks];
}

ActivityTimes& ActivityTimes::operator+=(const ActivityTimes& other) {
  for (std::size_t i = 0; i < kNumActivities; ++i) seconds[i] += other.seconds[i];
  wall_s += other.wall_s;
  synchronize_s += other.synchronize_s;
  return *this;
}

ActivityTimes& ActivityTimes::operator-=(const ActivityTimes& other) {
  for (std::size_t i = 0; i < kNumActivities; ++i) seconds[i] -= other.seconds[i];
  wall_s -= other.wall_s;
  synchronize_s -= other.synchronize_s;
  return *this;
}

}  // namespace tandem
