#include "nn/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "nn/optimizer.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Backends = std::map<BackendKind, std::unique_ptr<const Backend>>;

Backends& Registry() {
  static Backends registry;
  return registry;
}

const Backend& Find(BackendKind kind) {
  const auto found = Registry().find(kind);
  if (found != Registry().end()) return *found->second;
  throw Error(
      fmt::format("there is no backend {}; this is a bug in Tandem", NameOf(kBackendKinds, kind)));
}

// The backend that `auto` stands for: the first fast one that `serves` says can do the work, or
// else `reference`.
template <class Serves>
BackendKind Choose(const Device& device, const Serves& serves) {
  for (const auto& [kind, backend] : Registry()) {
    if (backend->IsFastOn(device) && serves(*backend)) return kind;
  }
  return BackendKind::kReference;
}

BackendKind ForTraining(const Config& config, const Device& device) {
  if (config.backend != BackendKind::kAuto) return config.backend;
  return Choose(device, [&](const Backend& backend) {
    return backend.WhyNoStep(config.network, config.train.precision, device).empty();
  });
}

// Precisions that `reference` lacks belong to one backend each, which says what the device lacks.
BackendKind ForInference(const Config& config, const Device& device) {
  if (config.backend != BackendKind::kAuto) return config.backend;
  const Precision precision = config.inference.precision;
  if (!Find(BackendKind::kReference).HasPrecision(precision)) {
    return std::ranges::find_if(
               Registry(), [&](const auto& entry) { return entry.second->HasPrecision(precision); })
        ->first;
  }
  return Choose(device, [&](const Backend& backend) {
    return backend.WhyNoCopy(config.network, precision, device).empty();
  });
}

void ResolvePrecision(Precision& precision, const Config& config, const Device& device) {
  if (precision != Precision::kAuto) return;
  const bool is_fast = std::ranges::any_of(Registry(), [&](const auto& entry) {
    const bool is_allowed = config.backend == BackendKind::kAuto || config.backend == entry.first;
    return is_allowed && entry.second->HasFastBf16(config.network, device);
  });
  precision = is_fast ? Precision::kBf16 : Precision::kFp32;
}

// Batches that mix a stream with live rows differ in size, and a step would be captured again for
// each of them. A captured step has no activities that could be timed.
bool MayCapture(const Config& config) {
  const bool sizes_differ = config.streams() && config.data.live_share > 0;
  return !sizes_differ && !config.profile.timing_breakdown;
}

// Backend::WhyNoCopy for any precision.
std::string WhyNoCopyOf(BackendKind kind, const NetworkConfig& network, Precision precision,
                        const Device& device) {
  const Backend& backend = Find(kind);
  if (backend.HasPrecision(precision)) return backend.WhyNoCopy(network, precision, device);
  return fmt::format("this backend does not compute in {}",
                     NameOf(kInferencePrecisions, precision));
}

}  // namespace

at::Tensor GradientStep::Step(const at::Tensor& inputs, const at::Tensor& targets,
                              const at::Tensor& weights, const Update& update) {
  at::Tensor loss = SetGradients(inputs, targets, weights);
  if (update.reduce) loss = update.reduce(loss);
  update.optimizer.Step(update.learning_rate);
  return loss;
}

void RegisterBackend(BackendKind kind, std::unique_ptr<const Backend> backend) {
  Registry()[kind] = std::move(backend);
}

Config WithBackends(Config config, const Device& device) {
  ResolvePrecision(config.train.precision, config, device);
  ResolvePrecision(config.inference.precision, config, device);
  config.train.backend = ForTraining(config, device);
  config.train.may_capture = MayCapture(config);
  config.inference.backend = ForInference(config, device);
  if (config.train.backend == config.inference.backend) config.backend = config.train.backend;
  return config;
}

std::string WhyNoStep(const Config& config, const Device& device) {
  return Find(config.train.backend).WhyNoStep(config.network, config.train.precision, device);
}

std::string WhyNoCopy(const Config& config, const Device& device) {
  return WhyNoCopyOf(config.inference.backend, config.network, config.inference.precision, device);
}

std::unique_ptr<GradientStep> MakeGradientStep(Network& net, const TrainingConfig& config,
                                               Device& device) {
  const Backend& backend = Find(config.backend);
  const std::string why = backend.WhyNoStep(net.spec().layers, config.precision, device);
  if (why.empty()) return backend.MakeStep(net, config, device);
  throw InputError(fmt::format("`backend: {}` with `train.precision: {}`: {}. Set both to auto",
                               NameOf(kBackendKinds, config.backend),
                               NameOf(kInferencePrecisions, config.precision), why));
}

std::unique_ptr<NetworkCopy> MakeInferenceCopy(const NetworkSpec& spec,
                                               const InferenceConfig& config,
                                               const Device& device) {
  const std::string why = WhyNoCopyOf(config.backend, spec.layers, config.precision, device);
  if (why.empty()) return Find(config.backend).MakeCopy(spec, config, device);
  throw InputError(fmt::format("`backend: {}` with `inference.precision: {}`: {}. Set both to auto",
                               NameOf(kBackendKinds, config.backend),
                               NameOf(kInferencePrecisions, config.precision), why));
}

}  // namespace tandem
