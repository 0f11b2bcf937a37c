// The pass that encodes states (device_pass.h).
#pragma once

#include <cstdint>

#include "nn/tensors/device_pass.h"

namespace tandem {

/// OneHotPass sets the input of the first product: 1 for each position's value, else 0. The first
/// `padding` features are always 0. Values of `depth` or more set none.
template <class T>
struct OneHotPass {
  static constexpr int kStages = 1;

  std::int64_t rows, positions, depth, padding;
  const std::uint8_t* values;  ///< (rows, positions)
  T* features;                 ///< (rows, padding + positions * depth)

  TANDEM_PASS_INLINE std::int64_t width() const { return padding + positions * depth; }
  PassGrid grid() const { return ColumnGrid(rows, width(), aligned()); }
  bool aligned() const { return width() % kPassVector == 0 && pass::IsAligned(features); }

  template <int V>
  TANDEM_PASS_INLINE void Run(int /*stage*/, PassThread thread, float* /*shared*/) const {
    const std::int64_t column = (thread.block_x * kThreadLanes + thread.lane) * V;
    if (column >= width()) return;
    int position[V];
    int value[V];  // -1: of no position
    for (int i = 0; i < V; ++i) {
      const auto feature = static_cast<int>(column + i - padding);
      const bool is_padding = feature < 0;
      position[i] = is_padding ? 0 : feature / static_cast<int>(depth);
      value[i] = is_padding ? -1 : feature % static_cast<int>(depth);
    }
    ForRowsOfBlock(
        thread, rows, width(), column,
        [&](std::int64_t row, std::int64_t /*at*/) {
          pass::Pack<std::uint8_t, V> read;
          for (int i = 0; i < V; ++i) read.values[i] = values[row * positions + position[i]];
          return read;
        },
        [&](std::int64_t /*row*/, std::int64_t at, const pass::Pack<std::uint8_t, V>& read) {
          float x[V];
          for (int i = 0; i < V; ++i) x[i] = read.values[i] == value[i] ? 1 : 0;
          pass::Store<T, V>(x, features + at);
        });
  }
};

}  // namespace tandem
