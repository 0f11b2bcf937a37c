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

/// GatheredFeatures computes the product of one-hot features with a matrix by adding the rows of
/// the matrix that belong to the features that are 1. For `positions` bytes of `depth` values, this
/// takes `positions` additions for each column, and the product takes positions * depth
/// multiplications and additions. Chess programs compute the first layer of their NNUE networks in
/// this way (Nasu, "Efficiently Updatable Neural-Network-based Evaluation Functions", 2018).
class GatheredFeatures {
 public:
  GatheredFeatures(InputLayout layout, c10::Device device);

  /// Maps bytes (n, positions), each below depth, and a matrix (positions * depth, m) to (n, m), in
  /// the type of the matrix. Sums are in the order of the positions, on any number of threads.
  at::Tensor operator()(const at::Tensor& bytes, const at::Tensor& matrix) const;

 private:
  at::Tensor first_;  // (positions), the feature of value 0 at each position
};

/// Returns whether `inference.first_layer` asks to gather the first layer on `device`. `auto`
/// counts: it gathers on a CPU if an addition of a gathered row replaces at least 4 multiplications
/// by the features of its position. With fewer, the product is often faster, because it reads each
/// weight once for many rows.
bool GathersFirstLayer(const InferenceConfig& config, InputLayout layout, c10::Device device);

/// ResNetFCCopy is the inference copy of ResNetFC. Batch normalisation is folded into the linear
/// layers. The weights may be in bf16, except those of the output layer and of a gathered first
/// layer, which are in fp32.
class ResNetFCCopy final : public NetworkCopy {
 public:
  ResNetFCCopy(const NetworkSpec& spec, const InferenceConfig& config, c10::Device device);

  /// Requires a ResNetFC.
  void Load(const Network& net) override;
  at::Tensor Forward(const at::Tensor& bytes) const override;
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

  at::Tensor FirstLayer(const at::Tensor& bytes) const;

  const NetworkConfig config_;
  const at::ScalarType type_;  // of the hidden layers
  OneHot one_hot_;
  std::optional<GatheredFeatures> gathered_;  // unset if the first layer is a product
  std::vector<Layer> layers_;
};

/// Makes a ResNetFCCopy, for the table of kinds.
std::unique_ptr<NetworkCopy> MakeResNetFCCopy(const NetworkSpec& spec,
                                              const InferenceConfig& config, c10::Device device);

}  // namespace tandem
