// The layers of a ResNetFC, as a fused training step (fused_step.cc) takes them: their weights,
// their batch normalisation, and the gradients of their weights, from the rows that the step keeps
// of a batch; and what the step shares with the fused copy (fused_copy.cc).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "nn/bf16.h"
#include "nn/cpu/block_products.h"
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

/// DefaultParameters holds scales of 1, and biases and shifts of 0, for the units of the widest
/// hidden layer. It must outlive the results of Describe.
class DefaultParameters {
 public:
  /// `shapes` are all layers of a network. The last is the output layer.
  explicit DefaultParameters(const std::vector<LayerShape>& shapes) {
    std::int64_t widest = 0;
    for (std::size_t i = 0; i + 1 < shapes.size(); ++i) widest = std::max(widest, shapes[i].out);
    ones_.assign(Size(widest), 1);
    zeros_.assign(Size(widest), 0);
  }

  /// Describes a hidden layer that has these parameters, or the defaults of those that are
  /// undefined. `parameters` must outlive the result. Batch normalisation, which is folded into the
  /// parameters or done by BatchNormalisation, is left out.
  HiddenLayer Describe(const LayerShape& shape, Activation activation,
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

  /// The units of the widest hidden layer, and as many zeros.
  std::int64_t widest() const { return std::ssize(zeros_); }
  const float* zeros() const { return zeros_.data(); }

 private:
  AlignedVector<float> ones_, zeros_;
};

/// WeightGradient keeps a layer's inputs and the gradients of its product for all rows of a batch,
/// in the order in which their product is fast. Calls for different rows, or for different units,
/// may run at the same time.
template <class T>
class WeightGradient {
 public:
  WeightGradient(std::int64_t units, std::int64_t inputs) : units_(units), inputs_(inputs) {}

  /// Makes room for `rows` rows, and forgets those before.
  void Reserve(std::int64_t rows) {
    const std::int64_t groups = CeilDivide(rows, kGroupRows);
    x_.resize(Size(groups * kGroupRows * inputs_ + kReadBeyond));
    gradient_.resize(Size(groups * units_ * (kIsBf16<T> ? kStride * kPerWord : kGroupRows)));
  }

  /// Keeps `rows` rows, at most kTileRows, of the inputs (rows, inputs) from row `first` on, which
  /// is a multiple of kTileRows.
  void KeepInput(std::int64_t first, std::int64_t rows, const T* x) {
    const std::int64_t in_group = first % kGroupRows;
    PackRows(in_group, rows, inputs_, x, kGroupRows, x_.data() + (first - in_group) * inputs_);
  }

  /// Keeps the gradients of the product (rows, units) of the same rows. `scratch` has kTileRows *
  /// units words.
  void KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                    // NOLINTNEXTLINE(readability-non-const-parameter): for bf16
                    std::uint32_t* scratch) {
    const std::int64_t group = first / kGroupRows;
    const std::int64_t in_group = first % kGroupRows;
    if constexpr (kIsBf16<T>) {
      RunPass(PairRows{
          .rows = rows, .width = units_, .from_stride = units_, .from = gradient, .to = scratch});
      RunPass(TransposeWords{
          .rows = CeilDivide(rows, kPerWord),
          .columns = units_,
          .to_stride = kStride,
          .from = scratch,
          .to = Words(gradient_.data()) + group * units_ * kStride + in_group / kPerWord});
    } else {
      PackRows(in_group, rows, units_, gradient, kGroupRows,
               gradient_.data() + (first - in_group) * units_);
    }
  }

  /// Sets `into` (units of the panel, inputs) to the gradient of the weights of the panel of units
  /// that begins at `unit`, or adds it if `add`. `rows` rows were kept.
  void Compute(std::int64_t rows, std::int64_t unit, bool add, float* into) const {
    const std::int64_t units = PanelWidth(unit, units_);
    for (std::int64_t first = 0; first < rows; first += kGroupRows, add = true) {
      const std::int64_t count = std::min(kGroupRows, rows - first);
      const T* x = x_.data() + first * inputs_;
      if constexpr (kIsBf16<T>) {
        const std::int64_t group = first / kGroupRows;
        Product(units, inputs_, CeilDivide(count, kPerWord) * kPerWord,
                gradient_.data() + (group * units_ + unit) * kStride * kPerWord, kStride * kPerWord,
                x, kGroupRows, into, add);
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
                               .gradient = gradient_.data() + first * units_ + unit * kGroupRows,
                               .x = x + column * kGroupRows,
                               .into = into + column,
                               .add = add});
        }
      }
    }
  }

 private:
  static constexpr std::int64_t kPerWord = kRowsPerWord<T>;

  // The number of rows of a group. x_ has the panels of one group after those of another.
  //
  // In bf16, oneDNN multiplies the transposed gradients by the inputs. gradient_ has (groups,
  // units, kStride) words: if all rows of a batch were in one group, transposing a tile would write
  // to as many pages as there are units.
  //
  // In fp32, gradient_ is like x_. A panel of a group, 16 KiB, stays in the first cache of a core
  // while it is multiplied by the gradients of a panel of units.
  static constexpr std::int64_t kGroupRows = kIsBf16<T> ? 8 * kTileRows : kTileRows;

  // Words from one unit to the next. Powers of two would map a row of all units to few cache lines.
  static constexpr std::int64_t kStride = kGroupRows / kPerWord + 16;

  // Numbers after the end of x_, because SumOuterProducts reads whole registers.
  static constexpr std::int64_t kReadBeyond = 16;

  std::int64_t units_, inputs_;
  AlignedVector<T> x_, gradient_;  // see kGroupRows
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
  void Reserve(std::int64_t rows) {
    gradient_.resize(Size(rows * units_));
    order_.resize(Size(input_.positions * rows));
    ends_.resize(Size(std::int64_t{input_.positions} * input_.depth));
  }

  /// Sorts all rows of a batch, `bytes` (rows, positions), by a position of the input.
  void SortByPosition(std::int64_t rows, const std::uint8_t* bytes, std::int64_t position) {
    RunPass(SortRows{.rows = rows,
                     .positions = input_.positions,
                     .position = position,
                     .depth = input_.depth,
                     .bytes = bytes,
                     .order = order_.data() + position * rows,
                     .ends = ends_.data() + position * input_.depth});
  }

  /// Keeps the gradients of the product (rows, units) of `rows` rows of a batch of `batch_rows`,
  /// from row `first` on.
  void KeepGradient(std::int64_t first, std::int64_t rows, const T* gradient,
                    std::int64_t batch_rows) {
    CopyToPanels(kPanelUnits, first, rows, units_, gradient, batch_rows, gradient_.data());
  }

  /// The number of pieces of the result. A piece belongs to some units and one position.
  std::int64_t NumPieces() const { return CeilDivide(units_, kPanelUnits) * input_.positions; }

  /// Sets one piece of `into` (features, units) to the gradient of the weights, or adds it if
  /// `add`. All positions were sorted, and `rows` rows were kept.
  void Compute(std::int64_t rows, std::int64_t piece, bool add, float* into) const {
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

 private:
  // The units of a panel of the gradients. Those of all rows then stay in the cache of a core while
  // they are added up for one position after another.
  static constexpr std::int64_t kPanelUnits = ScatterRows<T>::kBestWidth;

  InputLayout input_;
  std::int64_t units_;
  AlignedVector<T> gradient_;                  // in panels
  AlignedVector<std::uint32_t> order_, ends_;  // of SortRows: (positions, rows), (positions, depth)
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
  explicit BatchNormalisation(const Dense& dense)
      : units_(dense.bias.numel()),
        bias_(dense.bias.const_data_ptr<float>()),
        scale_(dense.norm_weight.const_data_ptr<float>()),
        running_mean_(dense.running_mean.mutable_data_ptr<float>()),
        running_var_(dense.running_var.mutable_data_ptr<float>()) {
    for (auto* of_units : {&mean_, &inverse_deviation_, &mean_gradient_, &mean_product_}) {
      of_units->resize(Size(units_));
    }
  }

  /// Sets `moments` (2, units) to the mean of each unit in a tile `z` (rows, units), and the sum of
  /// the squared differences from it.
  void SetMoments(std::int64_t rows, const float* z, float* moments) const {
    RunPass(ColumnMoments{
        .rows = rows, .width = units_, .z = z, .mean = moments, .squares = moments + units_});
  }

  /// Joins the `moments` (tiles, 2, units) of a batch of `rows` rows, and updates the running
  /// statistics as LibTorch does. Chan, Golub and LeVeque, "Updating formulae and a pairwise
  /// algorithm for computing sample variances", 1982.
  void JoinMoments(std::int64_t rows, const float* moments) {
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
      mean_[Size(c)] = static_cast<float>(mean);
      inverse_deviation_[Size(c)] =
          static_cast<float>(1 / std::sqrt(squares / all_rows + Dense::kEpsilon));
      const auto follow = [](float& running, double value) {
        running = static_cast<float>((1 - Dense::kMomentum) * running + Dense::kMomentum * value);
      };
      follow(running_mean_[c], mean + bias_[c]);
      follow(running_var_[c], squares / std::max(1.0, all_rows - 1));
    }
  }

  /// Normalises a tile `z` (rows, units). The scale and the shift must follow (ActivateRows).
  void Normalise(std::int64_t rows, float* z) const {
    RunPass(NormaliseColumns{.rows = rows,
                             .width = units_,
                             .mean = mean_.data(),
                             .inverse_deviation = inverse_deviation_.data(),
                             .z = z});
  }

  /// Joins the gradients of the scale and the shift (units) of a batch of `rows` rows. Those of
  /// tile i begin at `scale_sums` and `shift_sums` plus i * stride.
  void JoinGradients(std::int64_t rows, const float* scale_sums, const float* shift_sums,
                     std::int64_t stride) {
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

  /// Sets `product_gradient` from the result `z` of Normalise and the gradient of the scale's
  /// result. All are tiles (rows, units).
  void Backward(std::int64_t rows, const float* z, const float* gradient,
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

 private:
  std::int64_t units_;
  const float *bias_, *scale_;
  float *running_mean_, *running_var_;
  // Of the current batch; (units)
  AlignedVector<float> mean_, inverse_deviation_, mean_gradient_, mean_product_;
};

/// FusedLayer is a hidden layer: its weights in the order in which products take them, and what the
/// step keeps of a batch for their gradient.
template <class T>
struct FusedLayer {
  LayerShape plan;
  HiddenLayer shape = {};  ///< what passes read of the parameters
  DenseTensors parameters, gradients;
  /// Second operands of products, in panels: (in, width) and (width, in). `forward` of a first
  /// layer that is gathered is its weights in bf16, in rows.
  AlignedVector<T> forward = {}, backward = {};
  /// If the first layer is multiplied, inputs and gradients change places: its weights are (in,
  /// width).
  WeightGradient<T> kept;
  /// A layer that has it has no bias, which it would cancel.
  std::optional<BatchNormalisation<T>> batch_norm = {};

  const float* weight() const { return parameters.weight.template const_data_ptr<float>(); }
  float* weight_gradient() const { return gradients.weight.template mutable_data_ptr<float>(); }
};

/// FusedLayers are the layers of a ResNetFC. T is the type of the operands of products. The weights
/// of hidden layers after the first are divided into panels of units (block_products.h), and those
/// of the first layer into panels of features or, if it is gathered, by the positions of the input.
/// Calls for different panels or positions may run at the same time.
template <class T>
class FusedLayers {
 public:
  /// `parameters` are those of `net`, without padding. A first layer that is multiplied needs bf16.
  FusedLayers(const ResNetFC& net, const FlatParameters& parameters, bool multiplies_first)
      : depth_(net.spec().input.depth),
        multiplies_first_(multiplies_first),
        defaults_(net.shapes()) {
    const std::vector<DenseTensors> values = parameters.ByLayer(parameters.values());
    const std::vector<DenseTensors> gradients = parameters.ByLayer(parameters.gradients());
    output_ = values.back();
    output_gradients_ = gradients.back();
    const std::vector<LayerShape>& plans = net.shapes();
    for (std::size_t i = 0; i + 1 < plans.size(); ++i) {
      const LayerShape& plan = plans[i];
      FusedLayer<T>& layer = hidden_.emplace_back(
          FusedLayer<T>{.plan = plan,
                        .shape = defaults_.Describe(plan, net.spec().layers.activation, values[i]),
                        .parameters = values[i],
                        .gradients = gradients[i],
                        .kept = i > 0 ? WeightGradient<T>(plan.out, plan.in)
                                      : WeightGradient<T>(plan.in, plan.out)});
      if (plan.norm == Norm::kBatch) {
        layer.batch_norm.emplace(*net.layers()[i]);
        layer.shape.bias = defaults_.zeros();
        layer.gradients.bias.reset();
        normalises_batch_ = true;
      }
      if (kIsBf16<T> || i > 0) layer.forward.resize(Size(plan.in * plan.out));
      if (i > 0) layer.backward.resize(layer.forward.size());
      const std::int64_t rows_of_weight = i > 0 ? plan.out : multiplies_first ? plan.in : 0;
      for (std::int64_t first = 0; first < rows_of_weight; first += kPanelColumns) {
        panels_.push_back({.layer = i, .first = first});
      }
    }
  }

  FusedLayers(const FusedLayers&) = delete;
  FusedLayers& operator=(const FusedLayers&) = delete;

  /// The hidden layers.
  std::size_t size() const { return hidden_.size(); }
  FusedLayer<T>& operator[](std::size_t i) { return hidden_[i]; }
  const FusedLayer<T>& operator[](std::size_t i) const { return hidden_[i]; }
  std::int64_t widest() const { return defaults_.widest(); }
  bool normalises_batch() const { return normalises_batch_; }  ///< in some layer
  bool multiplies_first() const { return multiplies_first_; }  ///< the first layer, or gathers it

  const DenseTensors& output() const { return output_; }
  const DenseTensors& output_gradients() const { return output_gradients_; }

  /// The weights that the first layer gathers: (in, width).
  const T* first_weights() const {
    if constexpr (kIsBf16<T>) {
      return hidden_.front().forward.data();
    } else {
      return hidden_.front().weight();
    }
  }

  std::int64_t num_panels() const { return static_cast<std::int64_t>(panels_.size()); }

  /// Makes room for the rows from which ComputeGradient computes.
  void Reserve(std::int64_t rows) {
    for (std::size_t i = multiplies_first_ ? 0 : 1; i < size(); ++i) hidden_[i].kept.Reserve(rows);
  }

  /// Updates the operands of products to the current weights of a panel. `rounded` has room for
  /// kPanelColumns * widest() numbers.
  void PackPanel(std::int64_t panel, T* rounded) {
    const auto [number, first] = panels_[Size(panel)];
    FusedLayer<T>& layer = hidden_[number];
    const std::int64_t in = layer.plan.in;
    const std::int64_t width = layer.plan.out;
    const float* weight = layer.weight();
    if constexpr (kIsBf16<T>) {
      if (number == 0) {
        const std::int64_t features = PanelWidth(first, in);
        RunPass(
            RoundToBf16{.count = features * width, .from = weight + first * width, .to = rounded});
        return PackRows(first, features, width, rounded, in, layer.forward.data());
      }
    }
    PackWeights(weight, first, in, width, rounded, layer.forward.data());
    const T* rows = nullptr;
    if constexpr (kIsBf16<T>) {
      rows = rounded;
    } else {
      rows = weight + first * in;
    }
    PackRows(first, PanelWidth(first, width), in, rows, width, layer.backward.data());
  }

  /// Updates first_weights() to the current weights of a position of the input.
  void PackPosition(std::int64_t position) {
    if constexpr (kIsBf16<T>) {
      FusedLayer<T>& layer = hidden_.front();
      const std::int64_t count = depth_ * layer.plan.out;
      RunPass(RoundToBf16{.count = count,
                          .from = layer.weight() + position * count,
                          .to = layer.forward.data() + position * count});
    }
  }

  /// Sets the gradient of a panel's weights from `rows` rows that its layer kept, or adds it if
  /// `add`.
  void ComputeGradient(std::int64_t panel, std::int64_t rows, bool add) const {
    const auto [number, first] = panels_[Size(panel)];
    const FusedLayer<T>& layer = hidden_[number];
    const std::int64_t stride = number == 0 ? layer.plan.out : layer.plan.in;
    layer.kept.Compute(rows, first, add, layer.weight_gradient() + first * stride);
  }

 private:
  struct Panel {
    std::size_t layer;
    std::int64_t first;  // unit, or feature of the first layer
  };

  const std::int64_t depth_;  // features of a position of the input
  const bool multiplies_first_;
  const DefaultParameters defaults_;
  std::vector<FusedLayer<T>> hidden_;
  DenseTensors output_, output_gradients_;
  std::vector<Panel> panels_;
  bool normalises_batch_ = false;
};

}  // namespace tandem
