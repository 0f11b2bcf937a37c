#include "nn/threads.h"

#include <ATen/Parallel.h>
#include <omp.h>

// LibTorch's wheel for x86-64 carries MKL and exports this; other builds may not. (The name in
// lower case is Fortran's, which takes a pointer.)
extern "C" __attribute__((weak)) int MKL_Set_Num_Threads_Local(int threads);

namespace tandem {
namespace {

int SetMklThreads(int threads) {
  return MKL_Set_Num_Threads_Local != nullptr ? MKL_Set_Num_Threads_Local(threads) : 0;
}

}  // namespace

ScopedThreads::ScopedThreads(int threads) {
  // LibTorch sets a thread's number the first time that thread asks; let it do so before we do.
  openmp_before_ = at::get_num_threads();
  // LibTorch's kernels rely on getting the threads that they ask for: with fewer, bf16 products are
  // wrong. OMP_DYNAMIC and OMP_MAX_ACTIVE_LEVELS are settings of each thread.
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
