#include "nn/fused_support.h"

#include <fmt/format.h>

#include <cstdint>

#include "nn/bf16.h"
#include "nn/block_products.h"

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

}  // namespace

bool HasHiddenProducts(const NetworkConfig& network) {
  return network.stem_width > 0 || network.blocks > 0;
}

std::string WhyNotFused(const NetworkConfig& network, Precision precision, c10::Device device) {
  if (network.kind != kResNetFc) return "it computes networks of kind resnet_fc only";
  if (!device.is_cpu()) return "it runs on CPUs only";
  if (precision == Precision::kBf16 && (network.width % 2 != 0 || network.stem_width % 2 != 0)) {
    return "in bf16 it needs even network.width and network.stem_width";
  }
  if (HasHiddenProducts(network) && !HasProducts(precision)) {
    return fmt::format("LibTorch has no {} products of small blocks for this CPU",
                       NameOf(kInferencePrecisions, precision));
  }
  return "";
}

}  // namespace tandem
