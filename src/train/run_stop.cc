#include "train/run_stop.h"

#include <cstdlib>
#include <exception>
#include <string>

#include "base/log.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr const char* kStalled =
    "the run made no progress for train.watchdog_seconds; see the threads above";

// A thread that does not return from what it does cannot be ended, so the process ends.
[[noreturn]] void EndProcess() {
  LogWarning(
      "the run does not end, because a thread does not return; the process ends now. `tandem train "
      "--resume` continues from the last checkpoint.");
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

RunStop::RunStop(const StopSignal& outer, bool among_ranks)
    : requests_(&outer), local_(&requests_) {
  if (among_ranks) agreed_.emplace(local_);
}

void RunStop::SetTimeLimit(const Stopwatch& began, double seconds) {
  local_.SetDeadline(began.start(), seconds);
}

void RunStop::Watch(const Timeline& timeline, const TrainingConfig& config) {
  if (config.watchdog_seconds == 0) return;
  watchdog_.emplace(timeline, config.watchdog_seconds,
                    Watchdog::Actions{.on_stall =
                                          [this](const std::string& description) {
                                            LogWarning(description);
                                            StopStuckRun();
                                          },
                                      .on_no_recovery = EndProcess});
}

void RunStop::StopStuckRun() {
  stalled_ = true;
  interrupter_.Interrupt(std::make_exception_ptr(Error(kStalled)));
  requests_.Request();  // last, so that the error is the reason and not the stop
}

void RunStop::ThrowIfStalled() const {
  if (stalled_) throw Error(kStalled);
}

}  // namespace tandem
