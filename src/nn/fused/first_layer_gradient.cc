#include "nn/fused/first_layer_gradient.h"

#include <algorithm>
#include <cstddef>

#include "nn/bf16.h"
#include "nn/fused/block_products.h"
#include "nn/fused/gather_passes.h"

namespace tandem {
namespace {

// The units of a panel of the gradients. Those of all rows then stay in the cache of a core while
// they are added up for one position after another.
constexpr std::int64_t kPanelUnits = ScatterRows<Bf16>::kBestWidth;

}  // namespace

template <class T>
void FirstLayerGradient<T>::Reserve(std::int64_t rows) {
  gradient_.resize(Size(rows * units_));
  order_.resize(Size(input_.positions * rows));
  ends_.resize(Size(std::int64_t{input_.positions} * input_.depth));
}

template <class T>
void FirstLayerGradient<T>::SortByPosition(std::int64_t rows, const std::uint8_t* bytes,
                                           std::int64_t position) {
  RunPass(SortRows{.rows = rows,
                   .positions = input_.positions,
                   .position = position,
                   .depth = input_.depth,
                   .bytes = bytes,
                   .order = order_.data() + position * rows,
                   .ends = ends_.data() + position * input_.depth});
}

template <class T>
void FirstLayerGradient<T>::KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                                         std::int64_t batch_rows) {
  CopyToPanels(kPanelUnits, first, rows, units_, gradient, batch_rows, gradient_.data());
}

template <class T>
std::int64_t FirstLayerGradient<T>::NumPieces() const {
  return CeilDivide(units_, kPanelUnits) * input_.positions;
}

template <class T>
void FirstLayerGradient<T>::Compute(std::int64_t rows, std::int64_t piece, bool add,
                                    float* into) const {
  const std::int64_t unit = piece / input_.positions * kPanelUnits;
  const std::int64_t position = piece % input_.positions;
  const std::int64_t count = PanelWidth(unit, units_, kPanelUnits);
  into += position * input_.depth * units_ + unit;
  for (std::int64_t v = 0; v < input_.depth && !add; ++v) {
    std::fill_n(into + v * units_, count, 0.0F);
  }
  RunPass(ScatterRows<T>{.depth = input_.depth,
                         .width = count,
                         .stride = units_,
                         .order = order_.data() + position * rows,
                         .ends = ends_.data() + position * input_.depth,
                         .gradient = gradient_.data() + unit * rows,
                         .into = into});
}

template class FirstLayerGradient<float>;
template class FirstLayerGradient<Bf16>;

}  // namespace tandem
