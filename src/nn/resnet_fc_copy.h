// The inference copy of ResNetFC.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/network.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// ResNetFCCopy is the inference copy of ResNetFC. Batch normalisation is folded into the linear
/// layers. The weights may be in bf16, except those of the output layer and of a gathered first
/// layer, which are in fp32.
class ResNetFCCopy final : public NetworkCopy {
 public:
  ResNetFCCopy(const NetworkSpec& spec, const InferenceConfig& config, c10::Device device);

  /// Requires a ResNetFC.
  void Load(const Network& net) override;
  at::Tensor Forward(const at::Tensor& bytes) override;
  StateDict State() const override;

 private:
  struct Layer {
    Layer(const LayerShape& shape, at::ScalarType type, c10::Device device);
    void Load(const Dense& dense);
    at::Tensor operator()(const at::Tensor& x) const;
    at::Tensor Normalise(const at::Tensor& y) const;

    std::string name;
    Norm norm;
    at::Tensor weight, bias;
    at::Tensor norm_weight, norm_bias;  // as those of Dense; undefined if the norm can be folded
  };

  at::Tensor ApplyFirst(const at::Tensor& bytes) const;

  const NetworkConfig config_;
  const int input_depth_;
  const at::ScalarType type_;  // of the hidden layers
  OneHot one_hot_;
  std::optional<GatheredFeatures> gathered_;  // unset if the first layer is a product
  std::vector<Layer> layers_;
};

/// Makes the copy that `config.forward` selects, for the table of kinds.
std::unique_ptr<NetworkCopy> MakeResNetFCCopy(const NetworkSpec& spec,
                                              const InferenceConfig& config, const Device& device);

}  // namespace tandem
