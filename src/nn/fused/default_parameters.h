// The numbers in place of parameters that hidden layers do not have.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/fused/activation_passes.h"
#include "nn/fused/aligned_vector.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// DefaultParameters holds scales of 1, and biases and shifts of 0, for the units of the widest
/// hidden layer. It must outlive the results of Describe.
class DefaultParameters {
 public:
  /// `shapes` are all layers of a network. The last is the output layer.
  explicit DefaultParameters(const std::vector<LayerShape>& shapes);

  /// Describes a hidden layer that has these parameters, or the defaults of those that are
  /// undefined. `parameters` must outlive the result. Batch normalisation, which is folded into the
  /// parameters or done by BatchNorm, is left out.
  HiddenLayer Describe(const LayerShape& shape, Activation activation,
                       const DenseTensors& parameters) const;

  /// The units of the widest hidden layer, and as many zeros.
  std::int64_t widest() const { return std::ssize(zeros_); }
  const float* zeros() const { return zeros_.data(); }

 private:
  AlignedVector<float> ones_, zeros_;
};

}  // namespace tandem
