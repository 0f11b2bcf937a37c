#include "base/stop_signal.h"

#include <unistd.h>

#include <ctime>

namespace tandem {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};  // an object handles the first
constexpr double kCopySeconds = 0.1;  // a copy of a request arrives within this time

std::atomic<StopSignal*> g_stop{nullptr};
std::atomic<bool> g_second_ends{true};
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
  } else if (g_second_ends.load() &&
             number != SIGPIPE &&  // every line that is logged to a closed pipe raises SIGPIPE
             IsNewRequest(info->si_code == SI_KERNEL, Now() - g_caught_at.load())) {
    _exit(128 + number);
  }
}

}  // namespace

bool IsNewRequest(bool from_terminal, double seconds_since_first) {
  return from_terminal || seconds_since_first > kCopySeconds;
}

StopOnSignals::StopOnSignals(StopSignal& stop, std::size_t num_signals, bool second_ends)
    : stop_(stop), num_signals_(num_signals) {
  g_caught.store(0);
  g_stop.store(&stop_);
  g_second_ends.store(second_ends);
  for (std::size_t i = 0; i < num_signals_; ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;  // for example, under nohup
    struct sigaction action {};
    action.sa_sigaction = &OnSignal;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    for (const int other : kSignals) sigaddset(&action.sa_mask, other);
    sigaction(kSignals[i], &action, nullptr);
  }
}

StopOnSignals::~StopOnSignals() {
  for (std::size_t i = 0; i < num_signals_; ++i) sigaction(kSignals[i], &before_[i], nullptr);
  g_stop.store(nullptr);
}

// Not static, because the value is valid only while an object lives.
int StopOnSignals::caught() const {  // NOLINT(readability-convert-member-functions-to-static)
  return g_caught.load();
}

}  // namespace tandem
