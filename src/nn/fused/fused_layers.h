// The layers of a ResNetFC, as a fused training step (fused_step.h) takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "nn/flat_parameters.h"
#include "nn/fused/activation_passes.h"
#include "nn/fused/aligned_vector.h"
#include "nn/fused/batch_normalisation.h"
#include "nn/fused/default_parameters.h"
#include "nn/fused/weight_gradient.h"
#include "nn/resnet_fc.h"

namespace tandem {

/// FusedLayer is a hidden layer: where its parameters and their gradients are, and its weights in
/// the order in which products take them. Pointers to parameters that it does not have point to
/// ones or zeros, and those to their gradients are null.
template <class T>
struct FusedLayer {
  HiddenLayer shape = {};
  std::int64_t in = 0;
  bool begins_block = false;         ///< the first layer of a block
  bool adds_skip = false;            ///< the second, which adds the block's input
  const float* weight = nullptr;     ///< (width, in); the first layer's are (in, width)
  float* weight_gradient = nullptr;  ///< in the same order
  float *bias_gradient = nullptr, *scale_gradient = nullptr, *shift_gradient = nullptr;
  /// Second operands of products, in panels: (in, width) and (width, in). `forward` of a first
  /// layer that is gathered is its weights in bf16, in rows.
  AlignedVector<T> forward, backward;
  /// For a first layer that is multiplied, inputs and gradients change places here, because its
  /// weights are (in, width).
  WeightGradient<T> kept;
  /// A layer that has it has no bias, which it would cancel.
  std::optional<BatchNormalisation<T>> batch_norm;
};

/// FusedOutputLayer is the output layer: where its parameters and their gradients are.
struct FusedOutputLayer {
  std::int64_t width = 0, outputs = 0;
  const float *weight = nullptr, *bias = nullptr;
  float *weight_gradient = nullptr, *bias_gradient = nullptr;
};

/// FusedLayers are the layers of a ResNetFC. T is the type of the operands of products. The weights
/// of hidden layers after the first are divided into panels of units (block_products.h), and those
/// of the first layer into panels of features or, if it is gathered, by the positions of the input.
/// Calls for different panels or positions may run at the same time.
template <class T>
class FusedLayers {
 public:
  /// `parameters` are those of `net`, without padding, and must outlive the layers. The first layer
  /// is multiplied, which needs bf16, or gathered.
  FusedLayers(const ResNetFC& net, const FlatParameters& parameters, bool multiplies_first);
  FusedLayers(const FusedLayers&) = delete;
  FusedLayers& operator=(const FusedLayers&) = delete;

  /// The hidden layers.
  std::size_t size() const { return hidden_.size(); }
  FusedLayer<T>& operator[](std::size_t i) { return hidden_[i]; }
  const FusedLayer<T>& operator[](std::size_t i) const { return hidden_[i]; }
  std::int64_t widest() const { return defaults_.widest(); }
  bool normalises_batch() const { return normalises_batch_; }  ///< in some layer
  bool multiplies_first() const { return multiplies_first_; }  ///< the first layer, or gathers it

  const FusedOutputLayer& output() const { return output_; }

  /// The weights that the first layer gathers: (in, width).
  const T* first_weights() const;

  std::int64_t num_panels() const { return static_cast<std::int64_t>(panels_.size()); }

  /// Makes room for the rows from which ComputeGradient computes.
  void Reserve(std::int64_t rows);

  /// Updates the operands of products to the current weights of a panel. `rounded` has room for
  /// kPanelColumns * widest() numbers.
  void PackPanel(std::int64_t panel, T* rounded);

  /// Updates first_weights() to the current weights of a position of the input.
  void PackPosition(std::int64_t position);

  /// Sets the gradient of the weights of a panel, from `rows` rows that its layer kept, or adds it
  /// if `add`.
  void ComputeGradient(std::int64_t panel, std::int64_t rows, bool add) const;

 private:
  struct Panel {
    std::size_t layer;
    std::int64_t first;  // unit, or feature of the first layer
  };

  const std::int64_t depth_;  // features of a position of the input
  const bool multiplies_first_;
  const DefaultParameters defaults_;
  std::vector<FusedLayer<T>> hidden_;
  FusedOutputLayer output_;
  std::vector<Panel> panels_;
  bool normalises_batch_ = false;
};

}  // namespace tandem
