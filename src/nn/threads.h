// Sets how many CPU threads LibTorch uses for the calling thread.
#pragma once

namespace tandem {

/// ScopedThreads makes LibTorch's operators use `threads` CPU threads if they are called from this
/// thread, until the end of the scope. Other threads keep their own number, so a trainer and an
/// evaluator can each have a share of the cores; at::set_num_threads would set it for the whole
/// process. The constructor also turns off OpenMP's dynamic adjustment of the number for the
/// calling thread, whatever OMP_DYNAMIC says, and does not turn it on again.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads);
  ~ScopedThreads();
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int openmp_before_;
  int mkl_before_;
};

}  // namespace tandem
