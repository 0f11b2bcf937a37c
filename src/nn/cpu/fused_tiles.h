// The work of a fused training step (fused_step.cc) on tiles of rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/config.h"
#include "nn/cpu/block_products.h"
#include "nn/cpu/fused_layers.h"
#include "nn/cpu/passes.h"
#include "nn/resnet_fc.h"
#include "nn/training_loss.h"

namespace tandem {

/// TileSums adds up the gradients of biases, of normalisations and of the output layer: first over
/// the rows of each tile, and then over the tiles of a batch, in their order. Calls for different
/// tiles, or for different layers, may run at the same time.
template <class T>
class TileSums {
 public:
  struct HiddenSums {
    float *bias, *scale, *shift;  ///< (width)
  };
  struct OutputSums {
    float *weight, *bias;  ///< (outputs, width) and (outputs)
  };

  /// `layers` must outlive it.
  explicit TileSums(const FusedLayers<T>& layers);

  void Reserve(std::int64_t tiles);
  void Clear(std::int64_t tile);

  /// Where a tile adds its rows.
  HiddenSums OfHidden(std::int64_t tile, std::size_t layer);
  OutputSums OfOutput(std::int64_t tile);

  /// The sums of the next tile begin `stride` numbers later.
  std::int64_t stride() const { return stride_; }

  /// Sets the gradients of hidden layer `layer`, or adds to them if `add`. Those of the output
  /// layer are set with those of the first layer.
  void SetGradients(std::int64_t tiles, std::size_t layer, bool add) const;

 private:
  void AddTiles(std::int64_t tiles, std::int64_t begin, std::int64_t count, bool add,
                float* into) const;

  const FusedLayers<T>& layers_;
  std::vector<std::int64_t> begins_;  // of each hidden layer
  std::int64_t output_begin_ = 0;
  std::int64_t stride_ = 0;
  AlignedVector<float> sums_;  // (tiles, stride_)
};

/// BatchPart is rows of a batch. Their gradients are added to those of earlier parts if `add`.
struct BatchPart {
  std::int64_t rows;
  const std::uint8_t* bytes;       ///< (rows, positions)
  const float *targets, *weights;  ///< (rows, outputs); no weights: null
  double cost_scale, row_scale;    ///< of the batch (TrainingLoss::HostRows)
  bool add;

  std::int64_t num_tiles() const { return CeilDivide(rows, kTileRows); }
  std::int64_t RowsOf(std::int64_t tile) const {
    return std::min(kTileRows, rows - tile * kTileRows);
  }
};

/// TileMemory is the memory for one tile.
template <class T>
struct TileMemory {
  explicit TileMemory(const FusedLayers<T>& layers);

  /// The gradient of a layer's output and then of its activation's input. The second layer of a
  /// block leaves the gradient of the block's input along the residual connection there, so the
  /// product of the block's first layer is added to it.
  float* GradientOf(std::size_t layer) { return gradients[(x.size() - 1 - layer) % 2].data(); }

  /// The activations to which the second layer of a block adds its own; null for other layers.
  const T* SkipOf(const FusedLayers<T>& layers, std::size_t layer) const {
    return layers[layer].adds_skip ? x[layer - 2].data() : nullptr;
  }

  std::vector<AlignedVector<float>> z, inverse_deviation;  ///< of each layer
  std::vector<AlignedVector<T>> x;
  std::array<AlignedVector<float>, 2> gradients;
  AlignedVector<float> y, y_gradient;
  AlignedVector<T> one_hot;  ///< the input, if the first layer is multiplied
  AlignedVector<T> product_gradient, packed;
  AlignedVector<std::uint32_t> words;
};

/// FusedTiles takes tiles of rows through the layers of a network and back, and adds up the
/// gradients of its parameters. It divides the work into pieces and starts no threads. The order
/// for each part of a batch is:
///
///     Prepare(...)       for each piece
///     Multiply(...), Activate(...)                  for each layer and tile, from the first on
///     RunOutput(...)                                for each tile
///     ActivateBackward(...), MultiplyBackward(...)  for each layer and tile, from the last on
///     SetGradients(...)  for each piece
///
/// With batch normalisation, JoinMoments comes between Multiply of all tiles and Activate, and
/// JoinGradients between ActivateBackward of all tiles and MultiplyBackward. They must run alone.
/// Other calls for different pieces or tiles may run at the same time.
template <class T>
class FusedTiles {
 public:
  /// `parameters` are those of `net`. Both must outlive the object. The first layer is multiplied,
  /// which needs bf16, or gathered.
  FusedTiles(const ResNetFC& net, const FlatParameters& parameters, const TrainingConfig& config,
             bool multiplies_first);

  const FusedLayers<T>& layers() const { return layers_; }
  const TrainingLoss& loss() const { return loss_; }

  /// Makes room for parts of `rows` rows. Allocates only if there is less room.
  void Reserve(std::int64_t rows);
  std::int64_t capacity() const { return capacity_; }

  /// Makes the operands of products from the current weights, and sorts the rows for the gradient
  /// of a first layer that is gathered.
  std::int64_t NumPreparations(const BatchPart& part) const;
  void Prepare(const BatchPart& part, std::int64_t piece, TileMemory<T>& memory);

  /// Multiplies the layer's input by its weights. With batch normalisation, also computes the
  /// moments of the result.
  void Multiply(const BatchPart& part, std::int64_t tile, std::size_t layer, TileMemory<T>& memory);

  /// Does what follows the product.
  void Activate(const BatchPart& part, std::int64_t tile, std::size_t layer,
                TileMemory<T>& memory) const;

  /// The output layer, the loss, and the backward pass of both.
  void RunOutput(const BatchPart& part, std::int64_t tile, TileMemory<T>& memory);

  /// The backward pass of Activate, without batch normalisation.
  void ActivateBackward(const BatchPart& part, std::int64_t tile, std::size_t layer,
                        TileMemory<T>& memory);

  /// The backward pass of batch normalisation, which needs the sums of all rows, and of Multiply.
  void MultiplyBackward(const BatchPart& part, std::int64_t tile, std::size_t layer,
                        TileMemory<T>& memory);

  /// Join what Multiply and ActivateBackward computed for batch normalisation.
  void JoinMoments(const BatchPart& part, std::size_t layer);
  void JoinGradients(const BatchPart& part, std::size_t layer);

  /// Sets the gradients of the parameters, or adds to them.
  std::int64_t NumGradients() const;
  void SetGradients(const BatchPart& part, std::int64_t piece);

  /// The part's share of the loss of the batch.
  double LossOf(const BatchPart& part) const;

 private:
  const InputLayout input_;
  const TrainingLoss loss_;
  FusedLayers<T> layers_;
  std::optional<FirstLayerGradient<T>> first_gradient_;  // if the first layer is gathered
  TileSums<T> sums_;
  std::int64_t capacity_ = 0;     // rows
  std::vector<double> losses_;    // of each tile
  AlignedVector<float> moments_;  // of each tile, for the current layer
};

}  // namespace tandem
