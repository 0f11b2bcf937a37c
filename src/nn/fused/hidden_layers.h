// The hidden layers of a network, as the passes over their activations need them.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/fused/activation_passes.h"
#include "nn/fused/aligned_vector.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// HiddenLayers describes hidden layers. It holds the numbers that replace parameters which a layer
/// does not have, so it must outlive the results of Describe.
class HiddenLayers {
 public:
  /// `shapes` are all layers of a network. The last is the output layer.
  explicit HiddenLayers(const std::vector<LayerShape>& shapes);

  /// Describes a layer with these parameters, which must outlive the result. Batch normalisation,
  /// which is folded into the parameters or done by BatchNorm, is left out.
  HiddenLayer Describe(const LayerShape& shape, Activation activation,
                       const DenseTensors& parameters) const;

  /// The units of the widest hidden layer, and as many zeros.
  std::int64_t widest() const { return std::ssize(zeros_); }
  const float* zeros() const { return zeros_.data(); }

 private:
  AlignedVector<float> ones_, zeros_;
};

}  // namespace tandem
