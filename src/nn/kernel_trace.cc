#include "nn/kernel_trace.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <set>

namespace tandem {

KernelTrace::KernelTrace() {
  namespace profiler = torch::profiler::impl;
  profiler::ExperimentalConfig experimental;
  experimental.profile_all_threads = true;  // the generator evaluates on its own thread
  const profiler::ProfilerConfig config(
      profiler::ProfilerState::KINETO, /*report_input_shapes=*/false, /*profile_memory=*/false,
      /*with_stack=*/false, /*with_flops=*/false, /*with_modules=*/false, experimental);
  const std::set<profiler::ActivityType> activities = {profiler::ActivityType::CUDA};
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
}

KernelTrace::~KernelTrace() {
  if (!recording_) return;
  try {
    torch::autograd::profiler::disableProfiler();
  } catch (const c10::Error&) {
    // The device has failed, and the run already ends with that error.
  }
}

void KernelTrace::Save(const std::filesystem::path& path) {
  recording_ = false;
  torch::autograd::profiler::disableProfiler()->save(path.string());
}

}  // namespace tandem
