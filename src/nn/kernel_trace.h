// A recording of what a GPU does.
#pragma once

#include <filesystem>

namespace tandem {

/// KernelTrace records the kernels, copies and memory fills on all CUDA streams of the process with
/// LibTorch's profiler (Kineto), from construction to Save. At most one object may exist at a time.
/// Use it from the main thread only.
class KernelTrace {
 public:
  KernelTrace();
  ~KernelTrace();  // discards the recording if Save was not called
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  /// Ends the recording and writes it to `path` in Chrome's trace format. Call it once, after
  /// Device::Synchronize.
  void Save(const std::filesystem::path& path);

 private:
  bool recording_ = true;
};

}  // namespace tandem
