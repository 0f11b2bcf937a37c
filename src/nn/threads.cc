#include "nn/threads.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <omp.h>

#include <array>
#include <set>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/text.h"
#include "tandem/error.h"

// LibTorch's wheel for x86-64 contains MKL and exports this function; other builds may not. (The
// name in lower case is the Fortran function, which takes a pointer.)
extern "C" __attribute__((weak)) int MKL_Set_Num_Threads_Local(int threads);

namespace tandem {

namespace {

int SetMklThreads(int threads) {
  return MKL_Set_Num_Threads_Local != nullptr ? MKL_Set_Num_Threads_Local(threads) : 0;
}

}  // namespace

// The first call of get_num_threads on a thread makes LibTorch set the thread's number. It comes
// before ours is set, so that it cannot overwrite it later.
ScopedThreads::ScopedThreads(int threads) : openmp_before_(at::get_num_threads()) {
  // LibTorch's kernels rely on getting as many threads as they request: with fewer, bf16 products
  // are wrong. OMP_DYNAMIC and OMP_MAX_ACTIVE_LEVELS are settings of each thread.
  omp_set_dynamic(0);
  if (omp_get_max_active_levels() < 1) omp_set_max_active_levels(1);
  omp_set_num_threads(threads);
  mkl_before_ = SetMklThreads(threads);
}

ScopedThreads::~ScopedThreads() {
  SetMklThreads(mkl_before_);
  omp_set_num_threads(openmp_before_);
}

namespace {

// The number of threads of a parallel region that begins on the calling thread. It is smaller than
// the number that ScopedThreads set if OMP_THREAD_LIMIT limits it, for example.
int OpenMpTeamSize() {
  int size = 0;
#pragma omp parallel
#pragma omp single
  size = omp_get_num_threads();
  return size;
}

// Large enough that LibTorch splits the product among all threads.
constexpr std::int64_t kRows = 256, kInner = 128, kColumns = 256;

// Multiples of 1/8 between -1 and 1. They are exact in bf16, so one reference serves both types.
at::Tensor Filled(std::int64_t rows) {
  const at::Tensor row = at::arange(rows).unsqueeze(1);
  const at::Tensor column = at::arange(kInner);
  const at::Tensor eighths = (row * 7 + column * 11 + row * column).remainder(17) - 8;
  return eighths.to(at::kFloat) / 8;
}

// The product without a matrix product: a sum of outer products, which is exact in fp32.
at::Tensor Reference(const at::Tensor& x, const at::Tensor& w) {
  at::Tensor sum = at::zeros({kRows, kColumns});
  for (std::int64_t k = 0; k < kInner; ++k) sum += x.narrow(1, k, 1) * w.narrow(1, k, 1).t();
  return sum;
}

}  // namespace

void CompareWithReference(const LinearFunction& linear, c10::Device device, int threads) {
  // The products are at most 128, where neighbouring bf16 values differ by 1/2 or less.
  constexpr auto kTypes =
      std::to_array<std::pair<at::ScalarType, double>>({{at::kFloat, 0.1}, {at::kBFloat16, 1}});
  const c10::NoGradGuard no_grad;
  const at::Tensor x = Filled(kRows);
  const at::Tensor w = Filled(kColumns);
  const at::Tensor reference = Reference(x, w);
  for (const auto& [type, tolerance] : kTypes) {
    const auto on_device = [&](const at::Tensor& matrix) { return matrix.to(device).to(type); };
    const at::Tensor product = linear(on_device(x), on_device(w)).cpu().to(at::kFloat);
    const auto difference = (product - reference).abs().max().item<double>();
    if (difference <= tolerance) continue;  // NaN is not
    throw Error(fmt::format(
        "LibTorch's matrix products are wrong on {} with {}: a product in {} differs "
        "from the reference by {:.3g}, expected at most {}. OMP_THREAD_LIMIT and other OpenMP "
        "variables can cause this: unset every OMP_* and MKL_* variable, or set train.threads and "
        "inference.threads to 1",
        device.str(), Counted(threads, "CPU thread"), type == at::kFloat ? "fp32" : "bf16",
        difference, tolerance));
  }
}

void CheckProducts(const Device& device, int threads) {
  static Mutex mutex;
  static std::set<std::pair<std::string, int>> checked ABSL_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  for (const c10::Device place : {c10::Device(c10::kCPU), device.torch()}) {
    if (checked.contains({place.str(), threads})) continue;
    const ScopedThreads scope(threads);
    if (const int started = OpenMpTeamSize(); started != threads) {
      throw Error(fmt::format(
          "OpenMP starts {} of {} threads, with which LibTorch's products are wrong or differ in "
          "their last bits. Unset every OMP_* variable, or set train.threads and inference.threads "
          "to {}",
          started, threads, started));
    }
    CompareWithReference([](const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w); },
                         place, threads);
    checked.insert({place.str(), threads});
  }
}

}  // namespace tandem
