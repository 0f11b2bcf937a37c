#include "train/resolve.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <variant>

#include "config/fields.h"
#include "nn/device.h"
#include "nn/fused/fused_support.h"
#include "nn/tensors/tensor_step.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Without a product of hidden layers, all that the fused step and the fused copy do in bf16 is fast
// on any processor. `may_be_fused`: the config allows them.
Precision Resolved(Precision precision, bool may_be_fused, const NetworkConfig& network,
                   const Device& device) {
  if (precision != Precision::kAuto) return precision;
  const bool is_fast = may_be_fused && !HasHiddenProducts(network) &&
                       WhyNotFused(network, Precision::kBf16, device.torch()).empty();
  return is_fast || device.has_fast_bf16() ? Precision::kBf16 : Precision::kFp32;
}

Precision TrainingPrecision(const Config& config, const Device& device) {
  const bool may_be_fused =
      config.train.step == TrainStep::kAuto || config.train.step == TrainStep::kFused;
  return Resolved(config.train.precision, may_be_fused, config.network, device);
}

Precision InferencePrecision(const Config& config, const Device& device) {
  const bool may_be_fused = config.inference.forward == InferenceForward::kAuto ||
                            config.inference.forward == InferenceForward::kFused;
  return Resolved(config.inference.precision, may_be_fused, config.network, device);
}

void MakeAbsolute(std::string& path) {
  if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
}

// Returns whether the argument of the puzzle is a path. Names of the puzzles that come with Tandem
// are not paths, even if a file has the same name.
bool IsPath(const DomainConfig& domain) {
  return ReadsFile(domain.name) && domain.argument.find_first_of("./") != std::string::npos;
}

// Only fully connected networks can gather their first layer. The shape of the input decides.
void ResolveFirstLayer(FirstLayer& first_layer, const NetworkConfig& network) {
  if (first_layer == FirstLayer::kAuto && !IsFullyConnected(network.kind)) {
    first_layer = FirstLayer::kProduct;
  }
}

// A CPU runs tensor programs too, but slowly.
bool IsFastByTensors(const Config& config, const Device& device) {
  return !device.torch().is_cpu() && WhyNoTensorStep(config.network, device).empty();
}

// Batches that mix a stream with live rows differ in size, and a step would be captured again for
// each of them.
TrainStep StepFor(const Config& config, const Device& device) {
  if (WhyNotFused(config.network, config.train.precision, device.torch()).empty()) {
    return TrainStep::kFused;
  }
  if (!IsFastByTensors(config, device)) return TrainStep::kAutograd;
  const bool sizes_differ = config.streams() && config.data.live_share > 0;
  const bool is_timed = config.profile.timing_breakdown;
  return sizes_differ || is_timed ? TrainStep::kTensors : TrainStep::kCaptured;
}

// Each of int8 and fp8 has one way to be computed.
InferenceForward ForwardFor(const Config& config, const Device& device) {
  const Precision precision = config.inference.precision;
  if (precision == Precision::kFp8) return InferenceForward::kTensors;
  if (precision == Precision::kInt8 ||
      WhyNotFused(config.network, precision, device.torch()).empty()) {
    return InferenceForward::kFused;
  }
  return IsFastByTensors(config, device) ? InferenceForward::kTensors
                                         : InferenceForward::kOperators;
}

}  // namespace

Config WithAbsolutePaths(Config config) {
  if (IsPath(config.domain)) MakeAbsolute(config.domain.argument);
  for (const Field& field : FieldsOf(config)) {
    const auto* const path = std::get_if<PathField>(&field.value);
    if (path == nullptr) continue;
    MakeAbsolute(*path->value);
  }
  return config;
}

Config ResolveAutos(Config config, const Device& device, int cores) {
  const std::int64_t threads = std::min(cores, kMostThreads);
  config.device = device.torch().str();
  config.pipeline.policy_lag =
      config.pipeline.policy_lag.value_or(DefaultLag(config.pipeline.mode));
  config.generate.workers = config.generate.workers.value_or(threads);
  config.generate.chunk_rows = config.generate.rows_of_chunk();
  if (UsesRowsPerWalk(config.generate.target)) {
    config.generate.rows_per_walk = config.generate.rows_of_walk();
  }
  config.train.threads = config.train.threads.value_or(threads);
  config.inference.threads = config.inference.threads.value_or(*config.train.threads);
  config.inference.batch_size = config.inference.batch_size.value_or(
      device.torch().is_cpu() ? InferenceConfig::kCpuRows : InferenceConfig::kGpuRows);
  ResolveFirstLayer(config.train.first_layer, config.network);
  ResolveFirstLayer(config.inference.first_layer, config.network);
  config.train.precision = TrainingPrecision(config, device);
  config.inference.precision = InferencePrecision(config, device);
  if (config.train.step == TrainStep::kAuto) config.train.step = StepFor(config, device);
  if (config.inference.forward == InferenceForward::kAuto) {
    config.inference.forward = ForwardFor(config, device);
  }
  return config;
}

}  // namespace tandem
