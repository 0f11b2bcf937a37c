#include "nn/weight_gradient.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "nn/block_products.h"

namespace tandem {
namespace {

// In bf16, oneDNN multiplies the transposed gradients by the inputs. x_ has the inputs as pairs of
// rows. gradient_ has (groups of rows, units, kStride) words: if all rows of a batch were in one
// group, transposing a tile would write to as many pages as there are units.
constexpr std::int64_t kGroupRows = 512;  // a multiple of kTileRows

// From one unit to the next. A power of two would map the same row of all units to few lines of the
// cache.
constexpr std::int64_t kStride = kGroupRows / kRowsOfWords<Bf16> + 16;

// In fp32, both are kept as they are, in rows that are longer for the same reason.
std::int64_t RowStride(std::int64_t width) { return CeilDivide(width, 16) * 16 + 16; }

void KeepRows(std::int64_t first, std::int64_t rows, std::int64_t width, const float* from,
              std::uint32_t* to) {
  const std::int64_t stride = RowStride(width);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + (first + r) * stride, from + r * width,
                static_cast<std::size_t>(width) * sizeof(float));
  }
}

const float* Floats(const AlignedVector<std::uint32_t>& words) {
  return reinterpret_cast<const float*>(words.data());
}

}  // namespace

template <class T>
void WeightGradient<T>::Reserve(std::int64_t rows) {
  const auto resize = [](AlignedVector<std::uint32_t>& words, std::int64_t size) {
    words.resize(static_cast<std::size_t>(size));
  };
  if constexpr (std::is_same_v<T, Bf16>) {
    resize(x_, CeilDivide(rows, kRowsOfWords<T>) * inputs_);
    resize(gradient_, CeilDivide(rows, kGroupRows) * units_ * kStride);
  } else {
    resize(x_, rows * RowStride(inputs_));
    resize(gradient_, rows * RowStride(units_));
  }
}

template <class T>
void WeightGradient<T>::KeepInput(std::int64_t first, std::int64_t rows, const T* x) {
  if constexpr (std::is_same_v<T, Bf16>) {
    RunPass(PairRows{.rows = rows,
                     .width = inputs_,
                     .from = x,
                     .to = x_.data() + first / kRowsOfWords<T> * inputs_});
  } else {
    KeepRows(first, rows, inputs_, x, x_.data());
  }
}

template <class T>
void WeightGradient<T>::KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                                     std::uint32_t* scratch) {
  if constexpr (std::is_same_v<T, Bf16>) {
    RunPass(PairRows{.rows = rows, .width = units_, .from = gradient, .to = scratch});
    RunPass(TransposeWords{.rows = CeilDivide(rows, kRowsOfWords<T>),
                           .columns = units_,
                           .to_stride = kStride,
                           .from = scratch,
                           .to = gradient_.data() + first / kGroupRows * units_ * kStride +
                                 first % kGroupRows / kRowsOfWords<T>});
  } else {
    KeepRows(first, rows, units_, gradient, gradient_.data());
  }
}

template <class T>
void WeightGradient<T>::Compute(std::int64_t rows, std::int64_t unit, std::int64_t count, bool add,
                                float* into) const {
  if constexpr (std::is_same_v<T, Bf16>) {
    const std::int64_t all = CeilDivide(rows, kRowsOfWords<T>) * kRowsOfWords<T>;
    for (std::int64_t first = 0; first < all; first += kGroupRows) {
      const std::uint32_t* gradients =
          gradient_.data() + (first / kGroupRows * units_ + unit) * kStride;
      const std::uint32_t* x = x_.data() + first / kRowsOfWords<T> * inputs_;
      Product(count, inputs_, std::min(kGroupRows, all - first),
              reinterpret_cast<const T*>(gradients), kStride * kRowsOfWords<T>,
              reinterpret_cast<const T*>(x), into, add || first > 0);
    }
  } else {
    // The inputs of so many rows stay in the cache of a core.
    for (std::int64_t first = 0; first < rows; first += kTileRows) {
      RunPass(SumOuterProducts{.rows = std::min(kTileRows, rows - first),
                               .units = count,
                               .inputs = inputs_,
                               .gradient_stride = RowStride(units_),
                               .x_stride = RowStride(inputs_),
                               .gradient = Floats(gradient_) + first * RowStride(units_) + unit,
                               .x = Floats(x_) + first * RowStride(inputs_),
                               .into = into,
                               .add = add || first > 0});
    }
  }
}

template class WeightGradient<float>;
template class WeightGradient<Bf16>;

}  // namespace tandem
