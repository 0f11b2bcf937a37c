#include "base/phase.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

// In the order of Phase.
constexpr std::array<std::string_view, kNumPhases> kNames = {
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
    "optimizer", "wait_for_device", "reduce", "wait_for_ranks", "publish",
    // Between updates.
    "keep_state", "validation", "checkpoint", "report"};
static_assert(!kNames.back().empty(), "a phase has no name");

}  // namespace

std::string_view PhaseName(Phase phase) { return kNames[static_cast<std::size_t>(phase)]; }

std::optional<Phase> PhaseNamed(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Phase>(found - kNames.begin());
}

bool IsWait(Phase phase) {
  return phase == Phase::kIdle || phase == Phase::kGpuQueueWait ||
         PhaseName(phase).starts_with("wait_");
}

double PhaseTimes::Sum() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) - (*this)[Phase::kUnnamed];
}

double PhaseTimes::Work() const {
  double work = Sum();
  for (std::size_t i = 0; i < kNumPhases; ++i) {
    if (IsWait(static_cast<Phase>(i))) work -= seconds[i];
  }
  return work;
}

PhaseTimes& PhaseTimes::operator+=(const PhaseTimes& other) {
  for (std::size_t i = 0; i < kNumPhases; ++i) seconds[i] += other.seconds[i];
  wall_s += other.wall_s;
  synchronize_s += other.synchronize_s;
  return *this;
}

PhaseTimes& PhaseTimes::operator-=(const PhaseTimes& other) {
  for (std::size_t i = 0; i < kNumPhases; ++i) seconds[i] -= other.seconds[i];
  wall_s -= other.wall_s;
  synchronize_s -= other.synchronize_s;
  return *this;
}

}  // namespace tandem
