// What runs on a GPU and when, as LibTorch's profiler (Kineto) sees it.
#pragma once

#include <filesystem>

namespace tandem {

/// Kernels, copies and fills on all streams of the process, from construction to Save. At most one
/// at a time; used by the main thread.
class KernelTrace {
 public:
  KernelTrace();
  ~KernelTrace();  // without Save, drops what was recorded
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  /// Ends the recording and writes it in Chrome's trace format. Call once; wait for the device
  /// before.
  void Save(const std::filesystem::path& path);

 private:
  bool recording_ = true;
};

}  // namespace tandem
