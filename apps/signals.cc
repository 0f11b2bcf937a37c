#include "apps/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>

namespace tandem {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr time_t kPatience = 1;  // seconds

std::atomic<StopSignal*> g_stop{nullptr};
std::atomic<int> g_caught{0};
std::atomic<time_t> g_caught_at{0};

time_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // async-signal-safe, as is all that the handler does
  return now.tv_sec;
}

void OnSignal(int number) {
  if (g_caught.load() == 0) {
    g_caught_at.store(Now());  // before another signal can ask for it
    g_caught.store(number);
    if (StopSignal* stop = g_stop.load()) stop->Request();
  } else if (Now() - g_caught_at.load() > kPatience) {
    // Supervisors send one signal twice, to the program and its group; people who press Ctrl-C
    // again later mean it.
    _exit(128 + number);
  }
}

}  // namespace

StopOnSignals::StopOnSignals() {
  g_caught.store(0);
  g_stop.store(&stop_);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;  // as under nohup
    struct sigaction action {};
    action.sa_handler = &OnSignal;
    action.sa_flags = SA_RESTART;
    for (const int other : kSignals) sigaddset(&action.sa_mask, other);
    sigaction(kSignals[i], &action, nullptr);
  }
}

StopOnSignals::~StopOnSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  g_stop.store(nullptr);
}

// Not static: there is an answer only while one lives.
int StopOnSignals::caught() const {  // NOLINT(readability-convert-member-functions-to-static)
  return g_caught.load();
}

}  // namespace tandem
