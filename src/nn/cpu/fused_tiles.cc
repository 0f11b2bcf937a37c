#include "nn/cpu/fused_tiles.h"

#include <algorithm>
#include <numeric>

#include "nn/bf16.h"
#include "nn/cpu/passes.h"

namespace tandem {

template <class T>
TileSums<T>::TileSums(const FusedLayers<T>& layers) : layers_(layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    begins_.push_back(stride_);
    stride_ += 3 * layers[i].shape.width;
  }
  output_begin_ = stride_;
  stride_ += layers.output().outputs * (layers.output().width + 1);
}

template <class T>
void TileSums<T>::Reserve(std::int64_t tiles) {
  sums_.resize(static_cast<std::size_t>(tiles * stride_));
}

template <class T>
void TileSums<T>::Clear(std::int64_t tile) {
  std::fill_n(sums_.data() + tile * stride_, stride_, 0.0F);
}

template <class T>
typename TileSums<T>::HiddenSums TileSums<T>::OfHidden(std::int64_t tile, std::size_t layer) {
  const std::int64_t width = layers_[layer].shape.width;
  float* begin = sums_.data() + tile * stride_ + begins_[layer];
  return {.bias = begin, .scale = begin + width, .shift = begin + 2 * width};
}

template <class T>
typename TileSums<T>::OutputSums TileSums<T>::OfOutput(std::int64_t tile) {
  const FusedOutputLayer& output = layers_.output();
  float* begin = sums_.data() + tile * stride_ + output_begin_;
  return {.weight = begin, .bias = begin + output.outputs * output.width};
}

template <class T>
void TileSums<T>::SetGradients(std::int64_t tiles, std::size_t layer, bool add) const {
  const FusedLayer<T>& hidden = layers_[layer];
  const std::int64_t width = hidden.shape.width;
  const std::int64_t begin = begins_[layer];
  AddTiles(tiles, begin, width, add, hidden.bias_gradient);
  AddTiles(tiles, begin + width, width, add, hidden.scale_gradient);
  AddTiles(tiles, begin + 2 * width, width, add, hidden.shift_gradient);
  if (layer > 0) return;
  const FusedOutputLayer& output = layers_.output();
  const std::int64_t weights = output.outputs * output.width;
  AddTiles(tiles, output_begin_, weights, add, output.weight_gradient);
  AddTiles(tiles, output_begin_ + weights, output.outputs, add, output.bias_gradient);
}

// Adds up what the tiles have in `count` places.
template <class T>
void TileSums<T>::AddTiles(std::int64_t tiles, std::int64_t begin, std::int64_t count, bool add,
                           float* into) const {
  if (into == nullptr) return;
  if (!add) std::fill_n(into, count, 0.0F);
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const float* from = sums_.data() + tile * stride_ + begin;
    for (std::int64_t i = 0; i < count; ++i) into[i] += from[i];
  }
}

template class TileSums<float>;
template class TileSums<Bf16>;

namespace {

template <class T>
void WriteOneHot(InputLayout input, std::int64_t rows, const std::uint8_t* bytes, T* to) {
  T one;
  Narrow(1.0F, one);
  std::fill_n(to, rows * input.positions * input.depth, T{});
  for (std::int64_t i = 0; i < rows * input.positions; ++i) to[i * input.depth + bytes[i]] = one;
}

}  // namespace

template <class T>
TileMemory<T>::TileMemory(const FusedLayers<T>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t width = layers[i].shape.width;
    z.emplace_back(Size(kTileRows * width));
    x.emplace_back(Size(kTileRows * width));
    inverse_deviation.emplace_back(Size(kTileRows));
  }
  for (auto& gradient : gradients) gradient.resize(Size(kTileRows * layers.widest()));
  product_gradient.resize(Size(kTileRows * layers.widest()));
  packed.resize(Size(kPanelColumns * layers.widest()));
  if (layers.multiplies_first()) one_hot.resize(Size(kTileRows * layers[0].in));
  words.resize(std::max(Size(kTileRows * layers.widest()), one_hot.size()));
  y.resize(Size(kTileRows * layers.output().outputs));
  y_gradient.resize(Size(kTileRows * layers.output().outputs));
}

template <class T>
FusedTiles<T>::FusedTiles(const ResNetFC& net, const FlatParameters& parameters,
                          const TrainingConfig& config, bool multiplies_first)
    : input_(net.spec().input),
      loss_(net.spec().layers.head, config),
      layers_(net, parameters, multiplies_first),
      sums_(layers_) {
  if (!layers_.multiplies_first()) first_gradient_.emplace(input_, layers_[0].shape.width);
}

template <class T>
void FusedTiles<T>::Reserve(std::int64_t rows) {
  if (rows <= capacity_) return;
  layers_.Reserve(rows);
  if (first_gradient_) first_gradient_->Reserve(rows);
  const std::int64_t tiles = CeilDivide(rows, kTileRows);
  sums_.Reserve(tiles);
  if (layers_.normalises_batch()) moments_.resize(Size(tiles * 2 * layers_.widest()));
  losses_.resize(Size(tiles));
  capacity_ = rows;  // last, so that a failed allocation leaves the old capacity
}

// Parts of a batch have the same weights, so only the first part makes the operands of products.
template <class T>
std::int64_t FusedTiles<T>::NumPreparations(const BatchPart& part) const {
  return (first_gradient_ ? input_.positions : 0) + (part.add ? 0 : layers_.num_panels());
}

template <class T>
void FusedTiles<T>::Prepare(const BatchPart& part, std::int64_t piece, TileMemory<T>& memory) {
  const std::int64_t panels = part.add ? 0 : layers_.num_panels();
  if (piece < panels) return layers_.PackPanel(piece, memory.packed.data());
  const std::int64_t position = piece - panels;
  if (!part.add) layers_.PackPosition(position);
  first_gradient_->SortByPosition(part.rows, part.bytes, position);
}

template <class T>
void FusedTiles<T>::Multiply(const BatchPart& part, std::int64_t tile, std::size_t layer,
                             TileMemory<T>& memory) {
  FusedLayer<T>& l = layers_[layer];
  const std::int64_t width = l.shape.width;
  const std::int64_t first = tile * kTileRows;
  const std::int64_t rows = part.RowsOf(tile);
  float* z = memory.z[layer].data();
  if (layer == 0 && layers_.multiplies_first()) {
    T* x = memory.one_hot.data();
    WriteOneHot(input_, rows, part.bytes + first * input_.positions, x);
    l.kept.KeepGradient(first, rows, x, memory.words.data());
    Product(rows, width, l.in, x, l.in, l.forward.data(), l.in, z, /*add=*/false);
  } else if (layer == 0) {
    RunPass(GatherRows<T>{.rows = rows,
                          .positions = input_.positions,
                          .depth = input_.depth,
                          .width = width,
                          .bytes = part.bytes + first * input_.positions,
                          .matrix = layers_.first_weights(),
                          .sums = z});
  } else {
    const T* x = memory.x[layer - 1].data();
    l.kept.KeepInput(first, rows, x);
    Product(rows, width, l.in, x, l.in, l.forward.data(), l.in, z, /*add=*/false);
  }
  if (l.batch_norm) l.batch_norm->SetMoments(rows, z, moments_.data() + tile * 2 * width);
}

template <class T>
void FusedTiles<T>::Activate(const BatchPart& part, std::int64_t tile, std::size_t layer,
                             TileMemory<T>& memory) const {
  const FusedLayer<T>& l = layers_[layer];
  const std::int64_t rows = part.RowsOf(tile);
  float* z = memory.z[layer].data();
  if (l.batch_norm) l.batch_norm->Normalise(rows, z);
  RunPass(ActivateRows<T>{.layer = l.shape,
                          .rows = rows,
                          .z = z,
                          .skip = memory.SkipOf(layers_, layer),
                          .inverse_deviation = memory.inverse_deviation[layer].data(),
                          .out = memory.x[layer].data()});
}

template <class T>
void FusedTiles<T>::RunOutput(const BatchPart& part, std::int64_t tile, TileMemory<T>& memory) {
  sums_.Clear(tile);
  const std::int64_t rows = part.RowsOf(tile);
  const FusedOutputLayer& output = layers_.output();
  const T* hidden = memory.x.back().data();
  RunPass(OutputRows<T>{.rows = rows,
                        .width = output.width,
                        .outputs = output.outputs,
                        .x = hidden,
                        .weight = output.weight,
                        .bias = output.bias,
                        .y = memory.y.data()});
  const std::int64_t first_output = tile * kTileRows * output.outputs;
  losses_[Size(tile)] =
      loss_.RowLoss({.rows = rows,
                     .outputs = output.outputs,
                     .y = memory.y.data(),
                     .targets = part.targets + first_output,
                     .weights = part.weights != nullptr ? part.weights + first_output : nullptr,
                     .cost_scale = part.cost_scale,
                     .row_scale = part.row_scale,
                     .gradient = memory.y_gradient.data()});
  const auto sums = sums_.OfOutput(tile);
  RunPass(OutputRowsBackward<T>{.rows = rows,
                                .width = output.width,
                                .outputs = output.outputs,
                                .x = hidden,
                                .weight = output.weight,
                                .y_gradient = memory.y_gradient.data(),
                                .x_gradient = memory.GradientOf(layers_.size() - 1),
                                .weight_sums = sums.weight,
                                .bias_sums = sums.bias});
}

template <class T>
void FusedTiles<T>::ActivateBackward(const BatchPart& part, std::int64_t tile, std::size_t layer,
                                     TileMemory<T>& memory) {
  const auto sums = sums_.OfHidden(tile, layer);
  RunPass(ActivateRowsBackward<T>{.layer = layers_[layer].shape,
                                  .rows = part.RowsOf(tile),
                                  .z = memory.z[layer].data(),
                                  .skip = memory.SkipOf(layers_, layer),
                                  .inverse_deviation = memory.inverse_deviation[layer].data(),
                                  .gradient = memory.GradientOf(layer),
                                  .product_gradient = memory.product_gradient.data(),
                                  .bias_sums = sums.bias,
                                  .scale_sums = sums.scale,
                                  .shift_sums = sums.shift});
}

template <class T>
void FusedTiles<T>::MultiplyBackward(const BatchPart& part, std::int64_t tile, std::size_t layer,
                                     TileMemory<T>& memory) {
  FusedLayer<T>& l = layers_[layer];
  const std::int64_t width = l.shape.width;
  const std::int64_t first = tile * kTileRows;
  const std::int64_t rows = part.RowsOf(tile);
  T* product_gradient = memory.product_gradient.data();
  if (l.batch_norm) {
    l.batch_norm->Backward(rows, memory.z[layer].data(), memory.GradientOf(layer),
                           product_gradient);
  }
  if (layer == 0 && layers_.multiplies_first()) {
    return l.kept.KeepInput(first, rows, product_gradient);
  }
  if (layer == 0) return first_gradient_->KeepGradient(first, rows, product_gradient, part.rows);
  l.kept.KeepGradient(first, rows, product_gradient, memory.words.data());
  Product(rows, l.in, width, product_gradient, width, l.backward.data(), width,
          memory.GradientOf(layer - 1), /*add=*/l.begins_block);
}

template <class T>
void FusedTiles<T>::JoinMoments(const BatchPart& part, std::size_t layer) {
  FusedLayer<T>& l = layers_[layer];
  if (l.batch_norm) l.batch_norm->JoinMoments(part.rows, moments_.data());
}

template <class T>
void FusedTiles<T>::JoinGradients(const BatchPart& part, std::size_t layer) {
  FusedLayer<T>& l = layers_[layer];
  if (!l.batch_norm) return;
  const auto sums = sums_.OfHidden(/*tile=*/0, layer);
  l.batch_norm->JoinGradients(part.rows, sums.scale, sums.shift, sums_.stride());
}

template <class T>
std::int64_t FusedTiles<T>::NumGradients() const {
  return layers_.num_panels() + (first_gradient_ ? first_gradient_->NumPieces() : 0) +
         static_cast<std::int64_t>(layers_.size());
}

// The pieces are panels of weights, pieces of the weights of the first layer, and layers.
template <class T>
void FusedTiles<T>::SetGradients(const BatchPart& part, std::int64_t piece) {
  const std::int64_t panels = layers_.num_panels();
  const std::int64_t of_first = first_gradient_ ? first_gradient_->NumPieces() : 0;
  if (piece < panels) {
    layers_.ComputeGradient(piece, part.rows, part.add);
  } else if (piece < panels + of_first) {
    first_gradient_->Compute(part.rows, piece - panels, part.add, layers_[0].weight_gradient);
  } else {
    sums_.SetGradients(part.num_tiles(), Size(piece - panels - of_first), part.add);
  }
}

template <class T>
double FusedTiles<T>::LossOf(const BatchPart& part) const {
  return std::accumulate(losses_.begin(), losses_.begin() + part.num_tiles(), 0.0);
}

template struct TileMemory<float>;
template struct TileMemory<Bf16>;
template class FusedTiles<float>;
template class FusedTiles<Bf16>;

}  // namespace tandem
