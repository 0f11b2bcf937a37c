// The layers of an inference copy of a ResNetFC.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nn/network.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// FoldedLayers are the layers of an inference copy of a ResNetFC. Batch normalisation is folded
/// into the weights and biases. Tensors stay at the same address.
class FoldedLayers {
 public:
  /// Layers without tensors, which AddTensors adds.
  explicit FoldedLayers(const NetworkSpec& spec);

  /// Layers whose tensors have type `type`, except those of the output layer and of a gathered
  /// first layer, which are in fp32. The weights of a gathered first layer are stored by feature.
  /// Does not initialise the tensors.
  FoldedLayers(const NetworkSpec& spec, at::ScalarType type, bool gathers, c10::Device device);

  /// Adds the tensors of the next layer, in its shape. They may be views of larger ones.
  void AddTensors(DenseTensors tensors);

  /// The shapes of the layers, in the order of LayerShapes. The norm of a layer whose normalisation
  /// is folded is Norm::kNone.
  const std::vector<LayerShape>& shapes() const { return shapes_; }
  const DenseTensors& operator[](std::size_t i) const { return tensors_[i]; }

  /// Load and State are those of a NetworkCopy. Load requires a ResNetFC.
  void Load(const Network& net) const;
  const StateDict& State() const { return state_; }

  /// A counter of the writes to tensors, through Load or State, by LibTorch's operators.
  std::int64_t Version() const;

 private:
  std::vector<LayerShape> shapes_;
  std::vector<DenseTensors> tensors_;
  StateDict state_;
};

}  // namespace tandem
