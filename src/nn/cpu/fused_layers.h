// The layers of a ResNetFC, as a fused training step (fused_step.cc) takes them: their weights,
// their batch normalisation, and the gradients of their weights, from the rows that the step keeps
// of a batch; and RegionFailure, for the exceptions of parallel work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "nn/cpu/passes.h"
#include "nn/resnet_fc.h"
#include "tandem/domain.h"

namespace tandem {

/// RegionFailure keeps the first exception of the work in an OpenMP region. One that left the
/// region would end the program, and oneDNN allocates memory when it meets a new product. Threads
/// of the region may call Catch at the same time; call Rethrow after the region.
class RegionFailure {
 public:
  template <class Work>
  void Catch(const Work& work) {
    try {
      work();
    } catch (...) {
#pragma omp critical(tandem_region_failure)
      if (first_ == nullptr) first_ = std::current_exception();
    }
  }

  void Rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

/// WeightGradient keeps a layer's inputs and the gradients of its product for all rows of a batch,
/// in the order in which their product is fast. Calls for different rows, or for different units,
/// may run at the same time.
template <class T>
class WeightGradient {
 public:
  WeightGradient(std::int64_t units, std::int64_t inputs) : units_(units), inputs_(inputs) {}

  /// Makes room for `rows` rows, and forgets those before.
  void Reserve(std::int64_t rows);

  /// Keeps `rows` rows, at most kTileRows, of the inputs (rows, inputs) from row `first` on, which
  /// is a multiple of kTileRows.
  void KeepInput(std::int64_t first, std::int64_t rows, const T* x);

  /// Keeps the gradients of the product (rows, units) of the same rows. `scratch` has room for
  /// kTileRows * units words.
  void KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                    std::uint32_t* scratch);

  /// Sets `into` (units of the panel, inputs) to the gradient of the weights of the panel of units
  /// that begins at `unit`, or adds it if `add`. `rows` rows were kept.
  void Compute(std::int64_t rows, std::int64_t unit, bool add, float* into) const;

 private:
  std::int64_t units_, inputs_;
  AlignedVector<T> x_, gradient_;  // see kGroupRows in fused_layers.cc
};

/// FirstLayerGradient keeps the gradients of the first layer's product for all rows of a batch. The
/// weights of a feature get the sum of the gradients of the rows whose feature is 1. For each
/// position of the input, the rows are therefore sorted by its value. Calls for different rows,
/// positions or pieces may run at the same time.
template <class T>
class FirstLayerGradient {
 public:
  FirstLayerGradient(InputLayout input, std::int64_t units) : input_(input), units_(units) {}

  /// Makes room for `rows` rows, and forgets those before.
  void Reserve(std::int64_t rows);

  /// Sorts all rows of a batch, `bytes` (rows, positions), by a position of the input.
  void SortByPosition(std::int64_t rows, const std::uint8_t* bytes, std::int64_t position);

  /// Keeps the gradients of the product (rows, units) of `rows` rows of a batch of `batch_rows`,
  /// from row `first` on.
  void KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                    std::int64_t batch_rows);

  /// The number of pieces of the result. A piece belongs to some units and one position.
  std::int64_t NumPieces() const;

  /// Sets one piece of `into` (features, units) to the gradient of the weights, or adds it if
  /// `add`. All positions were sorted, and `rows` rows were kept.
  void Compute(std::int64_t rows, std::int64_t piece, bool add, float* into) const;

 private:
  InputLayout input_;
  std::int64_t units_;
  AlignedVector<T> gradient_;                  // in panels
  AlignedVector<std::uint32_t> order_, ends_;  // of SortRows: (positions, rows), (positions, depth)
};

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

/// BatchNormalisation normalises the product of a layer by the mean and the deviation of each of
/// its units over all rows of a batch. It takes the rows in tiles (kTileRows). Calls for different
/// tiles may run at the same time. A call that joins what was computed for the tiles must run
/// alone. The order for each batch is:
///
///     SetMoments(...)     for each tile of the product
///     JoinMoments(...)
///     Normalise(...)      for each tile
///     JoinGradients(...)  when the gradients of the scale and the shift are known for each tile
///     Backward(...)       for each tile
template <class T>
class BatchNormalisation {
 public:
  /// The parameters and the running statistics of `dense` must not move.
  explicit BatchNormalisation(Dense& dense);

  /// Sets `moments` (2, units) to the mean of each unit in a tile `z` (rows, units), and the sum of
  /// the squared differences from it.
  void SetMoments(std::int64_t rows, const float* z, float* moments) const;

  /// Joins the `moments` (tiles, 2, units) of a batch of `rows` rows, and updates the running
  /// statistics as LibTorch does.
  void JoinMoments(std::int64_t rows, const float* moments);

  /// Normalises a tile `z` (rows, units). The scale and the shift must follow (ActivateRows).
  void Normalise(std::int64_t rows, float* z) const;

  /// Joins the gradients of the scale and the shift (units) of a batch of `rows` rows. Those of the
  /// first tile begin at `scale_sums` and `shift_sums`, and those of each further tile `stride`
  /// numbers later.
  void JoinGradients(std::int64_t rows, const float* scale_sums, const float* shift_sums,
                     std::int64_t stride);

  /// Sets `product_gradient` from the result `z` of Normalise and the gradient of the scale's
  /// result. All are tiles (rows, units).
  void Backward(std::int64_t rows, const float* z, const float* gradient,
                T* product_gradient) const;

 private:
  std::int64_t units_;
  const float *bias_, *scale_;
  float *running_mean_, *running_var_;
  // Of the current batch; (units)
  AlignedVector<float> mean_, inverse_deviation_, mean_gradient_, mean_product_;
};

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
