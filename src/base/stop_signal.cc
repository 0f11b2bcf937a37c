#include "base/stop_signal.h"

#include <unistd.h>

#include <ctime>

namespace tandem {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
constexpr double kCopySeconds = 0.1;  // a copy of a request arrives within this time

std::atomic<StopSignal*> g_stop{nullptr};
std::atomic<int> g_caught{0};
std::atomic<double> g_caught_at{0};  // seconds
static_assert(std::atomic<double>::is_always_lock_free, "the handler must be async-signal-safe");

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // async-signal-safe, like everything in the handler
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void OnSignal(int number, siginfo_t* info, void* /*context*/) {
  if (g_caught.load() == 0) {
    g_caught_at.store(Now());  // before another signal can read it
    g_caught.store(number);
    if (StopSignal* stop = g_stop.load()) stop->Request();
  } else if (number != SIGPIPE &&  // every line that is logged to a closed pipe raises SIGPIPE
             IsNewRequest(info->si_code == SI_KERNEL, Now() - g_caught_at.load())) {
    _exit(128 + number);
  }
}

void OnInterrupt(int number) {
  g_caught.store(number);
  if (StopSignal* stop = g_stop.load()) stop->Request();
}

}  // namespace

bool IsNewRequest(bool from_terminal, double seconds_since_first) {
  return from_terminal || seconds_since_first > kCopySeconds;
}

StopOnSignals::StopOnSignals(ClosedPipe closed_pipe) {
  g_caught.store(0);
  g_stop.store(&stop_);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;  // for example, under nohup
    if (kSignals[i] == SIGPIPE && closed_pipe == ClosedPipe::kEndsProgram) continue;
    struct sigaction action {};
    action.sa_sigaction = &OnSignal;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    for (const int other : kSignals) sigaddset(&action.sa_mask, other);
    sigaction(kSignals[i], &action, nullptr);
  }
}

StopOnSignals::~StopOnSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  g_stop.store(nullptr);
}

// Not static, because the value is valid only while an object lives.
int StopOnSignals::caught() const {  // NOLINT(readability-convert-member-functions-to-static)
  return g_caught.load();
}

StopOnInterrupt::StopOnInterrupt(StopSignal& stop) {
  g_caught.store(0);
  g_stop.store(&stop);
  sigaction(SIGINT, nullptr, &before_);
  if (before_.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = &OnInterrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

StopOnInterrupt::~StopOnInterrupt() {
  sigaction(SIGINT, &before_, nullptr);
  g_stop.store(nullptr);
}

// Not static, because the value is valid only while an object lives.
bool StopOnInterrupt::caught() const {  // NOLINT(readability-convert-member-functions-to-static)
  return g_caught.load() != 0;
}

}  // namespace tandem
