// Counts what training steps allocate.
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "nn/cpu/cpu_backend.h"
#include "nn/threads.h"

namespace {
std::atomic<std::int64_t> g_allocations = 0;

// oneDNN copies the addresses of a product's operands into lists of a few bytes, which do not
// count.
constexpr std::size_t kMostBytesOfAList = 64;
}  // namespace

// The operators of this program replace those of all its libraries. GCC warns of free() if it
// inlines one operator of a pair and not the other.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (size > kMostBytesOfAList) g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace tandem {
namespace {

// Counts the memory of tensors, which does not come from operator new.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    return inner_->allocate(size);
  }
  c10::DeleterFnPtr raw_deleter() const override { return inner_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    inner_->copy_data(to, from, size);
  }

 private:
  c10::Allocator* inner_ = c10::GetDefaultCPUAllocator();
};

TEST(Allocations, ATensorIsCounted) {
  CountingAllocator counting;
  c10::SetCPUAllocator(&counting, /*priority=*/1);
  const std::int64_t before = g_allocations;
  const at::Tensor tensor = at::randn({100});
  EXPECT_GT(g_allocations, before + 1);
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), /*priority=*/2);
}

class FusedStepAllocations : public testing::TestWithParam<std::tuple<Norm, Precision>> {};

TEST_P(FusedStepAllocations, StepOfAKnownSizeAllocatesNothing) {
  const auto [norm, precision] = GetParam();
  const NetworkSpec spec{.input = {.positions = 6, .depth = 4},
                         .layers = {.width = 32, .blocks = 2, .norm = norm},
                         .outputs = 1};
  if (const std::string why = WhyNotFused(spec.layers, precision, c10::kCPU); !why.empty()) {
    GTEST_SKIP() << why;
  }
  static CountingAllocator counting;
  c10::SetCPUAllocator(&counting, /*priority=*/2);
  const ScopedThreads threads(2);
  ResNetFC net(spec, /*seed=*/1);
  TrainingConfig config;
  config.precision = precision;
  const auto step = MakeFusedStep(net, config);
  const at::Tensor inputs = at::randint(0, 4, {300, 6}, at::kByte);
  const at::Tensor targets = at::randn({300, 1});
  // The first steps compile kernels. oneDNN's cache of them is per thread, and a thread that came
  // late may have met only some of their shapes. So any five steps in a row may be the first that
  // allocate nothing.
  std::int64_t allocations = 0;
  for (int attempt = 0; attempt < 50; ++attempt) {
    const std::int64_t before = g_allocations;
    for (int i = 0; i < 5; ++i) step->SetGradients(inputs, targets, {});
    allocations = g_allocations - before;
    if (allocations == 0) return;
  }
  ADD_FAILURE() << "the last 5 of 250 steps allocate " << allocations << " times";
}

INSTANTIATE_TEST_SUITE_P(Every, FusedStepAllocations,
                         testing::Combine(testing::Values(Norm::kNone, Norm::kLayer, Norm::kBatch),
                                          testing::Values(Precision::kFp32, Precision::kBf16)));

}  // namespace
}  // namespace tandem
