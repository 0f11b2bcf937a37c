#include "nn/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "nn/optimizer.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Backends = std::map<BackendKind, std::unique_ptr<const Backend>>;

Backends& BackendRegistry() {
  static Backends registry;
  return registry;
}

const Backend& Find(BackendKind kind) {
  const auto found = BackendRegistry().find(kind);
  if (found != BackendRegistry().end()) return *found->second;
  throw Error(
      fmt::format("there is no backend {}; this is a bug in Tandem", NameOf(kBackendKinds, kind)));
}

// What `backend: auto` stands for in training or in inference: the first fast backend that can
// compute the network, or else `reference`. Precisions that `reference` lacks belong to one backend
// each, which says what the device lacks.
BackendKind Choose(const Config& config, Precision precision, const Device& device) {
  if (config.backend != BackendKind::kAuto) return config.backend;
  const bool is_special = !Find(BackendKind::kReference).HasPrecision(precision);
  for (const auto& [kind, backend] : BackendRegistry()) {
    const bool serves = is_special ? backend->HasPrecision(precision)
                                   : backend->IsFastOn(device) &&
                                         backend->WhyNot(config.network, precision, device).empty();
    if (serves) return kind;
  }
  return BackendKind::kReference;
}

void ResolvePrecision(Precision& precision, const Config& config, const Device& device) {
  if (precision != Precision::kAuto) return;
  const bool is_fast = std::ranges::any_of(BackendRegistry(), [&](const auto& entry) {
    const bool is_allowed = config.backend == BackendKind::kAuto || config.backend == entry.first;
    return is_allowed && entry.second->HasFastBf16(config.network, device);
  });
  precision = is_fast && MayUseBf16(config.network) ? Precision::kBf16 : Precision::kFp32;
}

// Batches that mix a stream with live rows differ in size, and a step would be captured again for
// each of them. A captured step has no activities that could be timed.
bool MayCapture(const Config& config) {
  const bool sizes_differ = config.streams() && config.data.live_share > 0;
  return !sizes_differ && !config.profile.timing_breakdown;
}

// Backend::WhyNot for any precision.
std::string WhyNot(BackendKind kind, const NetworkConfig& network, Precision precision,
                   const Device& device) {
  const Backend& backend = Find(kind);
  if (backend.HasPrecision(precision)) return backend.WhyNot(network, precision, device);
  return fmt::format("this backend does not compute in {}",
                     NameOf(kInferencePrecisions, precision));
}

// Returns the backend, or throws InputError if it cannot compute the network. `section` is the
// config's section with the precision.
const Backend& Checked(BackendKind kind, const NetworkConfig& network, Precision precision,
                       const Device& device, std::string_view section) {
  const std::string why = WhyNot(kind, network, precision, device);
  if (why.empty()) return Find(kind);
  throw InputError(fmt::format("`backend: {}` with `{}.precision: {}`: {}. Set both to auto",
                               NameOf(kBackendKinds, kind), section,
                               NameOf(kInferencePrecisions, precision), why));
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
  BackendRegistry()[kind] = std::move(backend);
}

Config WithBackends(Config config, const Device& device) {
  ResolvePrecision(config.train.precision, config, device);
  ResolvePrecision(config.inference.precision, config, device);
  config.train.backend = Choose(config, config.train.precision, device);
  config.train.may_capture = MayCapture(config);
  config.inference.backend = Choose(config, config.inference.precision, device);
  if (config.train.backend == config.inference.backend) config.backend = config.train.backend;
  return config;
}

std::string WhyNoStep(const Config& config, const Device& device) {
  return WhyNot(config.train.backend, config.network, config.train.precision, device);
}

std::string WhyNoCopy(const Config& config, const Device& device) {
  return WhyNot(config.inference.backend, config.network, config.inference.precision, device);
}

std::unique_ptr<GradientStep> MakeGradientStep(Network& net, const TrainingConfig& config,
                                               Device& device) {
  return Checked(config.backend, net.spec().layers, config.precision, device, "train")
      .MakeStep(net, config, device);
}

std::unique_ptr<NetworkCopy> MakeInferenceCopy(const NetworkSpec& spec,
                                               const InferenceConfig& config,
                                               const Device& device) {
  return Checked(config.backend, spec.layers, config.precision, device, "inference")
      .MakeCopy(spec, config, device);
}

}  // namespace tandem
