#include "base/phase.h"

#include <array>

namespace tandem {
namespace {

constexpr std::array<std::string_view, kNumPhases> kNames = {
    "unnamed",         "idle",
    "set_up",          "generate",
    "scramble",        "expand",
    "evaluate",        "back_up",
    "write",           "wait_for_workers",
    "wait_for_answer", "wait_for_free_slot",
    "shuffle",         "gather",
    "host_to_device",  "wait_for_room",
    "disk_load",       "wait_for_chunk",
    "gpu_transfer",    "gpu_queue_wait",
    "wait_for_rows",   "answer",
    "replay",          "wait_for_batch",
    "forward",         "backward",
    "clip_gradients",  "optimizer",
    "wait_for_device", "publish",
    "keep_state",      "validation",
    "checkpoint",      "report"};
static_assert(!kNames.back().empty(), "a phase has no name");

}  // namespace

std::string_view PhaseName(Phase phase) { return kNames[static_cast<std::size_t>(phase)]; }

bool IsWait(Phase phase) {
  return phase == Phase::kIdle || phase == Phase::kGpuQueueWait ||
         PhaseName(phase).starts_with("wait_");
}

}  // namespace tandem
