// How many CPU threads LibTorch uses on behalf of the calling thread.
#pragma once

namespace tandem {

/// Until the end of the scope, LibTorch's operators that are called from this thread use `threads`
/// CPU threads. Other threads keep their own number: unlike at::set_num_threads, which sets it for
/// the whole process, so that a trainer and an evaluator can each have a share of the cores.
/// OpenMP's dynamic adjustment of the number is off from then on, whatever OMP_DYNAMIC says.
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
