#include "nn/threads.h"

#include <ATen/ops/linear.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <thread>

namespace tandem {
namespace {

// A program in Python may use autocast on the thread that calls Tandem.
TEST(ScopedAutocast, RestoresTheSettingsOfTheThread) {
  const at::ScalarType before = at::autocast::get_autocast_dtype(c10::kCPU);
  at::autocast::set_autocast_dtype(c10::kCPU, at::kHalf);
  for (const bool enabled : {false, true}) {
    const ScopedAutocast autocast(c10::kCPU, enabled);
    EXPECT_EQ(at::autocast::get_autocast_dtype(c10::kCPU), at::kBFloat16);
  }
  EXPECT_EQ(at::autocast::get_autocast_dtype(c10::kCPU), at::kHalf);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(c10::kCPU));
  at::autocast::set_autocast_dtype(c10::kCPU, before);
}

TEST(ScopedThreads, SetsTheNumberForTheCallingThreadOnly) {
  const int before = omp_get_max_threads();
  {
    const ScopedThreads threads(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    std::thread([] {
      const ScopedThreads other(5);
      EXPECT_EQ(omp_get_max_threads(), 5);
    }).join();
    EXPECT_EQ(omp_get_max_threads(), 3);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(ScopedThreads, OverridesOpenMpSettingsThatStartFewerThreads) {
  std::thread([] {
    omp_set_dynamic(1);
    omp_set_max_active_levels(0);
    const ScopedThreads threads(2);
    EXPECT_EQ(omp_get_dynamic(), 0);
    EXPECT_GE(omp_get_max_active_levels(), 1);
    CompareWithReference([](const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w); },
                         c10::kCPU, 2);
  }).join();
}

}  // namespace
}  // namespace tandem
