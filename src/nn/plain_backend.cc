// The backend `plain`: autograd and LibTorch's operators in fp32, without gathered first layers.
#include "nn/backend.h"
#include "nn/reference_backend.h"

namespace tandem {
namespace {

/// PlainBackend computes as the reference backend does, but always by products, in fp32.
class PlainBackend final : public Backend {
 public:
  bool IsFastOn(const Device& /*device*/) const override { return false; }

  bool HasPrecision(Precision precision) const override { return precision == Precision::kFp32; }

  std::string WhyNot(const NetworkConfig& network, Precision /*precision*/,
                     const Device& /*device*/) const override {
    return network.kind == kResNetFc ? "" : "it computes networks of kind resnet_fc only";
  }

  std::unique_ptr<GradientStep> MakeStep(Network& net, const TrainingConfig& config,
                                         Device& device) const override {
    return MakeAutogradStep(net, config, device.torch(), /*gathers=*/false);
  }

  std::unique_ptr<NetworkCopy> MakeCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                        const Device& device) const override {
    return MakeOperatorCopy(spec, config, device.torch(), /*gathers=*/false);
  }
};

TANDEM_REGISTER_BACKEND(kPlain, PlainBackend);

}  // namespace
}  // namespace tandem
