#include "nn/fused/weight_gradient.h"

#include <algorithm>
#include <cstddef>

#include "nn/bf16.h"
#include "nn/fused/block_products.h"
#include "nn/fused/operand_passes.h"

namespace tandem {
namespace {

// The number of rows of a group. x_ has the panels of one group after those of another.
//
// In bf16, oneDNN multiplies the transposed gradients by the inputs. gradient_ has (groups, units,
// kStride) words: if all rows of a batch were in one group, transposing a tile would write to as
// many pages as there are units.
//
// In fp32, gradient_ is like x_. A panel of a group, 16 KiB, stays in the first cache of a core
// while it is multiplied by the gradients of a panel of units.
template <class T>
constexpr std::int64_t kGroupRows = kIsBf16<T> ? 8 * kTileRows : kTileRows;

// Words from one unit to the next. A power of two would map the same row of all units to few lines
// of the cache.
constexpr std::int64_t kStride = kGroupRows<Bf16> / kRowsPerWord<Bf16> + 16;

// Numbers after the end of x_, because SumOuterProducts reads whole registers.
constexpr std::int64_t kReadBeyond = 16;

}  // namespace

template <class T>
void WeightGradient<T>::Reserve(std::int64_t rows) {
  const std::int64_t groups = CeilDivide(rows, kGroupRows<T>);
  x_.resize(Size(groups * kGroupRows<T> * inputs_ + kReadBeyond));
  if constexpr (kIsBf16<T>) {
    gradient_.resize(Size(groups * units_ * kStride * kRowsPerWord<T>));
  } else {
    gradient_.resize(Size(groups * kGroupRows<T> * units_));
  }
}

template <class T>
void WeightGradient<T>::KeepInput(std::int64_t first, std::int64_t rows, const T* x) {
  const std::int64_t in_group = first % kGroupRows<T>;
  PackRows(in_group, rows, inputs_, x, kGroupRows<T>, x_.data() + (first - in_group) * inputs_);
}

template <class T>
void WeightGradient<T>::KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                                     // NOLINTNEXTLINE(readability-non-const-parameter): for bf16
                                     std::uint32_t* scratch) {
  const std::int64_t group = first / kGroupRows<T>;
  const std::int64_t in_group = first % kGroupRows<T>;
  if constexpr (kIsBf16<T>) {
    RunPass(PairRows{
        .rows = rows, .width = units_, .from_stride = units_, .from = gradient, .to = scratch});
    RunPass(TransposeWords{
        .rows = CeilDivide(rows, kRowsPerWord<T>),
        .columns = units_,
        .to_stride = kStride,
        .from = scratch,
        .to = Words(gradient_.data()) + group * units_ * kStride + in_group / kRowsPerWord<T>});
  } else {
    PackRows(in_group, rows, units_, gradient, kGroupRows<T>,
             gradient_.data() + (first - in_group) * units_);
  }
}

template <class T>
void WeightGradient<T>::Compute(std::int64_t rows, std::int64_t unit, bool add, float* into) const {
  const std::int64_t units = PanelWidth(unit, units_);
  for (std::int64_t first = 0; first < rows; first += kGroupRows<T>, add = true) {
    const std::int64_t count = std::min(kGroupRows<T>, rows - first);
    const T* x = x_.data() + first * inputs_;
    if constexpr (kIsBf16<T>) {
      constexpr std::int64_t kPerWord = kRowsPerWord<T>;
      const std::int64_t group = first / kGroupRows<T>;
      Product(units, inputs_, CeilDivide(count, kPerWord) * kPerWord,
              gradient_.data() + (group * units_ + unit) * kStride * kPerWord, kStride * kPerWord,
              x, kGroupRows<T>, into, add);
    } else {
      for (std::int64_t column = 0; column < inputs_; column += kPanelColumns) {
        const std::int64_t width = PanelWidth(column, inputs_);
        RunPass(
            SumOuterProducts{.rows = count,
                             .units = units,
                             .inputs = width,
                             .gradient_stride = units,
                             .x_stride = width,
                             .into_stride = inputs_,
                             .gradient = gradient_.data() + first * units_ + unit * kGroupRows<T>,
                             .x = x + column * kGroupRows<T>,
                             .into = into + column,
                             .add = add});
      }
    }
  }
}

template class WeightGradient<float>;
template class WeightGradient<Bf16>;

}  // namespace tandem
