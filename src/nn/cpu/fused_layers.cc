#include "nn/cpu/fused_layers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "nn/bf16.h"
#include "nn/cpu/block_products.h"
#include "nn/cpu/passes.h"

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

DefaultParameters::DefaultParameters(const std::vector<LayerShape>& shapes) {
  std::int64_t widest = 0;
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) widest = std::max(widest, shapes[i].out);
  ones_.assign(static_cast<std::size_t>(widest), 1);
  zeros_.assign(static_cast<std::size_t>(widest), 0);
}

HiddenLayer DefaultParameters::Describe(const LayerShape& shape, Activation activation,
                                        const DenseTensors& parameters) const {
  const auto or_else = [](const at::Tensor& parameter, const AlignedVector<float>& missing) {
    return parameter.defined() ? parameter.const_data_ptr<float>() : missing.data();
  };
  return {.width = shape.out,
          .norm = shape.norm == Norm::kBatch ? Norm::kNone : shape.norm,
          .activation = activation,
          .linear = shape.linear,
          .bias = or_else(parameters.bias, zeros_),
          .scale = or_else(parameters.norm_weight, ones_),
          .shift = or_else(parameters.norm_bias, zeros_),
          .epsilon = static_cast<float>(Dense::kEpsilon)};
}

template <class T>
BatchNormalisation<T>::BatchNormalisation(Dense& dense)
    : units_(dense.bias.numel()),
      bias_(dense.bias.const_data_ptr<float>()),
      scale_(dense.norm_weight.const_data_ptr<float>()),
      running_mean_(dense.running_mean.mutable_data_ptr<float>()),
      running_var_(dense.running_var.mutable_data_ptr<float>()) {
  for (auto* of_units : {&mean_, &inverse_deviation_, &mean_gradient_, &mean_product_}) {
    of_units->resize(static_cast<std::size_t>(units_));
  }
}

template <class T>
void BatchNormalisation<T>::SetMoments(std::int64_t rows, const float* z, float* moments) const {
  RunPass(ColumnMoments{
      .rows = rows, .width = units_, .z = z, .mean = moments, .squares = moments + units_});
}

// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1982.
template <class T>
void BatchNormalisation<T>::JoinMoments(std::int64_t rows, const float* moments) {
  const auto all_rows = static_cast<double>(rows);
  for (std::int64_t c = 0; c < units_; ++c) {
    double mean = 0;
    double squares = 0;
    double before = 0;
    const float* of_tile = moments;
    for (std::int64_t first = 0; first < rows; first += kTileRows, of_tile += 2 * units_) {
      const auto count = static_cast<double>(std::min(kTileRows, rows - first));
      const double difference = of_tile[c] - mean;
      const double all = before + count;
      mean += difference * count / all;
      squares += of_tile[units_ + c] + difference * difference * before * count / all;
      before = all;
    }
    const auto unit = static_cast<std::size_t>(c);
    mean_[unit] = static_cast<float>(mean);
    inverse_deviation_[unit] =
        static_cast<float>(1 / std::sqrt(squares / all_rows + Dense::kEpsilon));
    const auto follow = [](float& running, double value) {
      running = static_cast<float>((1 - Dense::kMomentum) * running + Dense::kMomentum * value);
    };
    follow(running_mean_[c], mean + bias_[c]);
    follow(running_var_[c], squares / std::max(1.0, all_rows - 1));
  }
}

template <class T>
void BatchNormalisation<T>::Normalise(std::int64_t rows, float* z) const {
  RunPass(NormaliseColumns{.rows = rows,
                           .width = units_,
                           .mean = mean_.data(),
                           .inverse_deviation = inverse_deviation_.data(),
                           .z = z});
}

template <class T>
void BatchNormalisation<T>::JoinGradients(std::int64_t rows, const float* scale_sums,
                                          const float* shift_sums, std::int64_t stride) {
  const std::int64_t tiles = CeilDivide(rows, kTileRows);
  const auto mean_of = [&](const float* sums, AlignedVector<float>& means) {
    std::ranges::fill(means, 0.0F);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const float* from = sums + tile * stride;
      for (std::size_t c = 0; c < means.size(); ++c) means[c] += from[c];
    }
    for (float& mean : means) mean /= static_cast<float>(rows);
  };
  mean_of(shift_sums, mean_gradient_);
  mean_of(scale_sums, mean_product_);
}

template <class T>
void BatchNormalisation<T>::Backward(std::int64_t rows, const float* z, const float* gradient,
                                     T* product_gradient) const {
  RunPass(NormaliseColumnsBackward<T>{.rows = rows,
                                      .width = units_,
                                      .z = z,
                                      .gradient = gradient,
                                      .scale = scale_,
                                      .inverse_deviation = inverse_deviation_.data(),
                                      .mean_gradient = mean_gradient_.data(),
                                      .mean_product = mean_product_.data(),
                                      .product_gradient = product_gradient});
}

template class BatchNormalisation<float>;
template class BatchNormalisation<Bf16>;

template <class T>
FusedLayers<T>::FusedLayers(const ResNetFC& net, const FlatParameters& parameters,
                            bool multiplies_first)
    : depth_(net.spec().input.depth), multiplies_first_(multiplies_first), defaults_(net.shapes()) {
  const std::vector<DenseTensors> values = parameters.ByLayer(parameters.values());
  const std::vector<DenseTensors> gradients = parameters.ByLayer(parameters.gradients());
  const std::vector<LayerShape>& shapes = net.shapes();
  const auto or_null = [](const at::Tensor& gradient) {
    return gradient.defined() ? gradient.mutable_data_ptr<float>() : nullptr;
  };
  hidden_.reserve(shapes.size() - 1);
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    const LayerShape& shape = shapes[i];
    FusedLayer<T> layer{.shape = defaults_.Describe(shape, net.spec().layers.activation, values[i]),
                        .in = shape.in,
                        .begins_block = shape.begins_block,
                        .adds_skip = shape.adds_skip,
                        .weight = values[i].weight.template const_data_ptr<float>(),
                        .weight_gradient = or_null(gradients[i].weight),
                        .bias_gradient = or_null(gradients[i].bias),
                        .scale_gradient = or_null(gradients[i].norm_weight),
                        .shift_gradient = or_null(gradients[i].norm_bias),
                        .kept = i > 0 ? WeightGradient<T>(shape.out, shape.in)
                                      : WeightGradient<T>(shape.in, shape.out)};
    if (shape.norm == Norm::kBatch) {
      layer.batch_norm.emplace(*net.layers()[i]);
      layer.shape.bias = defaults_.zeros();
      layer.bias_gradient = nullptr;
      normalises_batch_ = true;
    }
    if (kIsBf16<T> || i > 0) {
      layer.forward.resize(static_cast<std::size_t>(shape.in * shape.out));
    }
    if (i > 0) layer.backward.resize(layer.forward.size());
    const std::int64_t rows_of_weight = i > 0 ? shape.out : multiplies_first ? shape.in : 0;
    for (std::int64_t first = 0; first < rows_of_weight; first += kPanelColumns) {
      panels_.push_back({.layer = i, .first = first});
    }
    hidden_.push_back(std::move(layer));
  }
  output_ = {.width = shapes.back().in,
             .outputs = shapes.back().out,
             .weight = values.back().weight.template const_data_ptr<float>(),
             .bias = values.back().bias.template const_data_ptr<float>(),
             .weight_gradient = or_null(gradients.back().weight),
             .bias_gradient = or_null(gradients.back().bias)};
}

template <class T>
const T* FusedLayers<T>::first_weights() const {
  if constexpr (kIsBf16<T>) {
    return hidden_.front().forward.data();
  } else {
    return hidden_.front().weight;
  }
}

template <class T>
void FusedLayers<T>::Reserve(std::int64_t rows) {
  for (std::size_t i = multiplies_first_ ? 0 : 1; i < size(); ++i) hidden_[i].kept.Reserve(rows);
}

template <class T>
void FusedLayers<T>::PackPanel(std::int64_t panel, T* rounded) {
  const auto [number, first] = panels_[static_cast<std::size_t>(panel)];
  FusedLayer<T>& layer = hidden_[number];
  if constexpr (kIsBf16<T>) {
    if (number == 0) {
      const std::int64_t width = layer.shape.width;
      const std::int64_t features = PanelWidth(first, layer.in);
      RunPass(RoundToBf16{
          .count = features * width, .from = layer.weight + first * width, .to = rounded});
      return PackRows(first, features, width, rounded, layer.in, layer.forward.data());
    }
  }
  PackWeights(layer.weight, first, layer.in, layer.shape.width, rounded, layer.forward.data());
  const T* rows = nullptr;
  if constexpr (kIsBf16<T>) {
    rows = rounded;
  } else {
    rows = layer.weight + first * layer.in;
  }
  PackRows(first, PanelWidth(first, layer.shape.width), layer.in, rows, layer.shape.width,
           layer.backward.data());
}

template <class T>
void FusedLayers<T>::PackPosition(std::int64_t position) {
  if constexpr (kIsBf16<T>) {
    FusedLayer<T>& layer = hidden_.front();
    const std::int64_t count = depth_ * layer.shape.width;
    RunPass(RoundToBf16{.count = count,
                        .from = layer.weight + position * count,
                        .to = layer.forward.data() + position * count});
  }
}

template <class T>
void FusedLayers<T>::ComputeGradient(std::int64_t panel, std::int64_t rows, bool add) const {
  const auto [number, first] = panels_[static_cast<std::size_t>(panel)];
  const FusedLayer<T>& layer = hidden_[number];
  const std::int64_t stride = number == 0 ? layer.shape.width : layer.in;
  layer.kept.Compute(rows, first, add, layer.weight_gradient + first * stride);
}

template class FusedLayers<float>;
template class FusedLayers<Bf16>;

}  // namespace tandem
