#include "apps/signals.h"

#include <atomic>
#include <csignal>

namespace tandem {
namespace {

std::atomic<StopSignal*> g_stop{nullptr};
std::atomic<int> g_caught{0};

void OnSignal(int number) {
  g_caught.store(number);
  if (StopSignal* stop = g_stop.load()) stop->Request();
}

void Handle(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

}  // namespace

StopOnSignals::StopOnSignals() {
  g_caught.store(0);
  g_stop.store(&stop_);
  Handle(&OnSignal, static_cast<int>(SA_RESETHAND | SA_RESTART));
}

StopOnSignals::~StopOnSignals() {
  Handle(SIG_DFL, 0);
  g_stop.store(nullptr);
}

int StopOnSignals::caught() const { return g_caught.load(); }

}  // namespace tandem
