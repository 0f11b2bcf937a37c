// Waits in tests for what another thread does.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tandem {

/// Waits until `condition` is true. Fails the test if it is still false after a minute.
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

}  // namespace tandem
