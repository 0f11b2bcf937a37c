#include "nn/fused/tile_sums.h"

#include <algorithm>

#include "nn/bf16.h"

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

}  // namespace tandem
