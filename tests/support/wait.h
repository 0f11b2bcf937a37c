// Waits in tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tandem {

/// Waits until another thread has made `condition` true. Fails the test after a minute.
template <class Condition>
void WaitUntil(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "the condition was still false after a minute";
      return;
    }
    std::this_thread::yield();
  }
}

/// Sleeps, in place of work, in tests of code that measures time or stops at a given time. To wait
/// for another thread, use WaitUntil, because no fixed time is always long enough.
inline void TakeTime(std::chrono::duration<double> time) { std::this_thread::sleep_for(time); }

}  // namespace tandem
