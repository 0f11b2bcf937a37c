// The layers of a ResNetFC, as a tensor step (tensor_step.h) takes them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/config.h"
#include "nn/flat_parameters.h"
#include "nn/resnet_fc.h"
#include "nn/tensors/layer_rows.h"

namespace tandem {

/// Rows of the first product begin at addresses that are multiples of this many numbers.
inline constexpr std::int64_t kFeatureAlignment = 8;

/// Returns how many features of value 0 to put in front of `features`, so that rows are aligned.
inline std::int64_t PaddingBefore(std::int64_t features) {
  return -features & (kFeatureAlignment - 1);
}

/// Whether the product with the weights, and the bias, are all that a layer does.
inline bool IsProduct(const LayerShape& layer) { return layer.norm == Norm::kNone && layer.linear; }

/// Whether only a ReLU follows the product and the bias. LibTorch has one operator for these.
inline bool IsReluOfProduct(const LayerShape& layer, Activation activation) {
  return layer.norm == Norm::kNone && !layer.linear && !layer.adds_skip &&
         activation == Activation::kRelu;
}

/// The numbers of a tensor as a pass takes them; null if the tensor is undefined.
template <class T>
T* DataOrNull(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

/// TensorLayer is a hidden layer: its parameters, their gradients, and what the forward pass keeps
/// of the current rows for the backward pass.
struct TensorLayer {
  LayerShape shape;  ///< `in` includes the features that are always 0

  /// The operands of products: (in, width) for the first layer, (width, in) for others, and
  /// (width). In the type of activations.
  at::Tensor weight, bias;

  /// In fp32. The weight of `gradients` has the shape of `weight`.
  DenseTensors parameters, gradients;

  at::Tensor running_mean, running_var;  ///< (width), defined with batch normalisation

  /// (rows, width). z, the result of the product, is undefined if the backward pass does not need
  /// it.
  at::Tensor z, y;
  at::Tensor mean, inverse;  ///< the statistics of a normalisation
};

/// TensorOutputLayer is the output layer.
struct TensorOutputLayer {
  DenseTensors parameters, gradients;
};

/// TensorLayers are the layers of a ResNetFC. Activations have the type of the copies of its
/// parameters or, if there are none, of the parameters.
class TensorLayers {
 public:
  /// `parameters` are those of `net`, and must outlive the layers.
  TensorLayers(const ResNetFC& net, const FlatParameters& parameters);

  /// The hidden layers.
  std::size_t size() const { return hidden_.size(); }
  const TensorLayer& operator[](std::size_t i) const { return hidden_[i]; }
  const TensorLayer& front() const { return hidden_.front(); }
  const TensorLayer& back() const { return hidden_.back(); }

  const TensorOutputLayer& output() const { return output_; }

  /// The type of activations, and the greatest width and number of weights of a hidden layer.
  at::TensorOptions options() const { return options_; }
  std::int64_t widest() const { return widest_; }
  std::int64_t most_weights() const { return most_weights_; }

  /// Allocates what the forward pass keeps of `rows` rows.
  void Reserve(std::int64_t rows);

  /// What a pass over the rows of layer `i` reads. T is the type of activations.
  template <class T>
  LayerRows<T> RowsOf(std::size_t i) const {
    const TensorLayer& layer = hidden_[i];
    return {.rows = layer.y.size(0),
            .width = layer.shape.out,
            .norm = layer.shape.norm,
            .activation = activation_,
            .linear = layer.shape.linear,
            .z = DataOrNull<T>(layer.z),
            .skip = layer.shape.adds_skip ? DataOrNull<T>(hidden_[i - 2].y) : nullptr,
            .scale = DataOrNull<float>(layer.parameters.norm_weight),
            .shift = DataOrNull<float>(layer.parameters.norm_bias),
            .mean = DataOrNull<float>(layer.mean),
            .inverse = DataOrNull<float>(layer.inverse),
            .epsilon = static_cast<float>(Dense::kEpsilon)};
  }

 private:
  const Activation activation_;
  at::TensorOptions options_;
  std::vector<TensorLayer> hidden_;
  TensorOutputLayer output_;
  std::int64_t widest_ = 0, most_weights_ = 0;
};

}  // namespace tandem
