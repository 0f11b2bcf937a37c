#include "nn/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/machine.h"
#include "base/text.h"
#include "nn/bf16.h"
#include "nn/cpu/block_products.h"
#include "nn/cpu/packed_weights.h"
#include "nn/device.h"

namespace tandem {

namespace {

// Whether this machine has the products of hidden layers in `precision`.
bool HasProducts(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return HasBlocks<Bf16, Bf16, float>(Bf16{0}, Bf16{0}, 0);
    case Precision::kInt8:  // old processors add pairs of such products in 16 bits
      return HasBlocks<std::uint8_t, std::int8_t, std::int32_t>(255, 127, 255 * 127);
    case Precision::kFp8:
      return false;
    case Precision::kFp32:
    case Precision::kAuto:
      break;
  }
  return HasBlocks<float, float, float>(0, 0, 0);
}

// The first and the last layer are not in int8.
std::string WhyNotInInt8(const NetworkConfig& network) {
  const std::vector<LayerShape> shapes = LayerShapes({.layers = network});
  for (std::size_t i = 1; i + 1 < shapes.size(); ++i) {
    if (shapes[i].in > Int8Weights::kMostInputs) {
      return fmt::format("in int8 a hidden layer adds up at most {} inputs, and {} has {}",
                         WithThousands(Int8Weights::kMostInputs), shapes[i].name,
                         WithThousands(shapes[i].in));
    }
  }
  return "";
}

// Whether a network multiplies the activations of a hidden layer by a matrix of another. A single
// hidden layer is gathered from the input.
bool HasHiddenProducts(const NetworkConfig& network) {
  return network.stem_width > 0 || network.blocks > 0;
}

}  // namespace

bool MultipliesFirstLayer(Precision precision, InputLayout input) {
  const bool is_even = input.positions * input.depth % 2 == 0;  // products take pairs of features
  return precision == Precision::kBf16 && is_even && input.depth < kManyValuesInTraining &&
         CpuHas("amx_bf16");
}

std::string WhyNotFused(const NetworkConfig& network, Precision precision, c10::Device device) {
  if (!IsFullyConnected(network.kind)) return "it computes resnet_fc and mlp only";
  if (!device.is_cpu()) return "it runs on CPUs only";
  if (precision == Precision::kBf16 && (network.width % 2 != 0 || network.stem_width % 2 != 0)) {
    return "in bf16 it needs even network.width and network.stem_width";
  }
  if (HasHiddenProducts(network) && !HasProducts(precision)) {
    return fmt::format("LibTorch has no {} products of small blocks for this CPU",
                       NameOf(kInferencePrecisions, precision));
  }
  return precision == Precision::kInt8 ? WhyNotInInt8(network) : "";
}

namespace {

class CpuBackend final : public Backend {
 public:
  bool IsFastOn(const Device& device) const override { return device.torch().is_cpu(); }

  // Without a product of hidden layers, bf16 is fast on any processor.
  bool HasFastBf16(const NetworkConfig& network, const Device& device) const override {
    const bool is_gathered =
        !HasHiddenProducts(network) && WhyNot(network, Precision::kBf16, device).empty();
    return is_gathered || device.has_fast_bf16();
  }

  bool HasPrecision(Precision precision) const override {
    return Backend::HasPrecision(precision) || precision == Precision::kInt8;
  }

  std::string WhyNot(const NetworkConfig& network, Precision precision,
                     const Device& device) const override {
    return WhyNotFused(network, precision, device.torch());
  }

  std::unique_ptr<GradientStep> MakeStep(Network& net, const TrainingConfig& config,
                                         Device& /*device*/) const override {
    return MakeFusedStep(dynamic_cast<ResNetFC&>(net), config);
  }

  std::unique_ptr<NetworkCopy> MakeCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                        const Device& /*device*/) const override {
    return MakeFusedCopy(spec, config.precision);
  }
};

TANDEM_REGISTER_BACKEND(kCpu, CpuBackend);

}  // namespace

}  // namespace tandem
