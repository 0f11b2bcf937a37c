#include "run/resolve.h"

#include <algorithm>
#include <thread>

namespace tandem {
namespace {

Precision Resolved(Precision precision, const Device& device) {
  if (precision != Precision::kAuto) return precision;
  return device.has_fast_bf16() ? Precision::kBf16 : Precision::kFp32;
}

}  // namespace

TrainConfig ResolveAutos(TrainConfig config, const Device& device) {
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  config.device = device.torch().str();
  config.pipeline.policy_lag =
      config.pipeline.policy_lag.value_or(config.pipeline.mode == Mode::kAsync ? 1 : 0);
  if (config.diagnose.timing_breakdown) {  // with the same lag, so with the same weights
    config.pipeline.overlap = false;
    for (PrefetchConfig* prefetch : {&config.prefetch, &config.validation.prefetch}) {
      prefetch->enabled = false;
      prefetch->copy_stream = false;
    }
  }
  config.generate.workers = config.generate.workers.value_or(cores);
  config.train.threads = config.train.threads.value_or(cores);
  config.evaluate.threads = config.evaluate.threads.value_or(*config.train.threads);
  config.train.precision = Resolved(config.train.precision, device);
  config.evaluate.precision = Resolved(config.evaluate.precision, device);
  return config;
}

}  // namespace tandem
