#include "nn/threads.h"

#include <ATen/Parallel.h>
#include <omp.h>

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

}  // namespace tandem
