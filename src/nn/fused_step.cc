#include "nn/fused_step.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/timeline.h"
#include "nn/aligned_vector.h"
#include "nn/block_products.h"
#include "nn/fused_kernels.h"
#include "nn/fused_loss.h"
#include "nn/region_failure.h"
#include "nn/weight_gradient.h"

namespace tandem {
namespace {

// The units of a panel of the gradients of the first layer's product. Those of all rows then stay
// in the cache of a core while they are added up for one position after another.
constexpr std::int64_t kFirstUnits = ScatterRows<Bf16>::kBestWidth;

// The gradients of the parameters of a layer that are sums over rows, added up by one tile.
struct LayerSums {
  std::int64_t bias = 0, scale = 0, shift = 0;  // where they begin
};

template <class T>
class ResNetStep final : public FusedStep {
 public:
  ResNetStep(ResNetFC& net, const TrainingConfig& config)
      : net_(net),
        parameters_(net.parameters()),
        input_(net.spec().input),
        outputs_(net.spec().outputs),
        parts_(config.accumulation_steps),
        loss_(net.spec().layers.head, config) {
    const c10::NoGradGuard no_grad;
    flat_ = at::empty({net.NumParameters()});
    flat_gradients_ = at::zeros({net.NumParameters()});
    const std::vector<at::Tensor> views = ViewsOf(flat_, parameters_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      views[i].copy_(parameters_[i]);
      parameters_[i].set_data(views[i]);
    }
    gradients_ = ViewsOf(flat_gradients_, parameters_);
    AddLayers();
  }

  at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights) override {
    const Span span(Phase::kBackward);
    const c10::NoGradGuard no_grad;
    CheckInputs(inputs, input_.depth, "training step");
    const std::int64_t rows = inputs.size(0) / parts_;
    Reserve(rows);
    Part part{.rows = rows,
              .cost_scale = 1 / CostWeightOf(rows * parts_, weights),
              .row_scale = 1 / static_cast<double>(rows * parts_)};
    double loss = 0;
    for (std::int64_t i = 0; i < parts_; ++i) {
      const std::int64_t first = i * rows;
      part.bytes = inputs.const_data_ptr<std::uint8_t>() + first * input_.positions;
      part.targets = targets.const_data_ptr<float>() + first * outputs_;
      part.weights =
          weights.defined() ? weights.const_data_ptr<float>() + first * outputs_ : nullptr;
      part.add = i > 0;
      loss += Run(part);
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i].mutable_grad() = gradients_[i];
    }
    *mean_loss_.mutable_data_ptr<float>() = static_cast<float>(loss);
    return mean_loss_;
  }

 private:
  struct Layer {
    HiddenLayer shape = {};
    std::int64_t in = 0;
    bool adds_skip = false;            // the second layer of a block adds the block's input
    const float* weight = nullptr;     // (width, in); the first layer's are (in, width)
    float* weight_gradient = nullptr;  // in the same order
    float* bias_gradient = nullptr;
    float* scale_gradient = nullptr;
    float* shift_gradient = nullptr;
    LayerSums sums;
    float *running_mean = nullptr, *running_var = nullptr;  // set with batch normalisation
    // Of the current rows, with batch normalisation; (width)
    AlignedVector<float> mean, inverse_deviation, mean_gradient, mean_product;
    // Second operands of products, in panels: (in, width) and (width, in). `forward` of the first
    // layer is its weights in bf16, in rows.
    AlignedVector<T> forward, backward;
    WeightGradient<T> kept;  // of layers after the first

    bool normalises_batch() const { return running_mean != nullptr; }
  };

  // The panel of units of a hidden layer, after the first layer, that begins at unit `first`.
  struct Slice {
    std::size_t layer;
    std::int64_t first;
  };

  // The memory for one tile.
  struct Tile {
    std::vector<AlignedVector<float>> z, inverse_deviation;
    std::vector<AlignedVector<T>> x;
    std::array<AlignedVector<float>, 2> gradients;
    AlignedVector<float> y, y_gradient;
    AlignedVector<T> product_gradient, packed;
    AlignedVector<std::uint32_t> words;
  };

  // Rows whose gradients are added to those of earlier parts of the batch.
  struct Part {
    std::int64_t rows;
    const std::uint8_t* bytes;
    const float *targets, *weights;
    double cost_scale, row_scale;
    bool add;
  };

  void AddLayers();
  void AddStatistics(Dense& of, Layer& layer);
  void Reserve(std::int64_t rows);
  double CostWeightOf(std::int64_t rows, const at::Tensor& weights) const;

  double Run(const Part& part);
  void PackLayer(const Slice& slice, Tile& tile);
  void PackFirstWeights(std::int64_t position);
  void SortPosition(const Part& part, std::int64_t position);
  void RunTile(const Part& part, std::int64_t number, Tile& tile);
  void RunByLayer(const Part& part, RegionFailure& failure);
  void RunLayer(const Part& part, std::int64_t number, std::size_t layer, Tile& tile);
  void Multiply(const Part& part, std::int64_t number, std::size_t layer, Tile& tile);
  void Activate(std::int64_t rows, std::size_t layer, Tile& tile) const;
  void RunOutput(const Part& part, std::int64_t number, Tile& tile);
  void ActivateBackward(const Part& part, std::int64_t number, std::size_t layer, Tile& tile);
  void MultiplyBackward(const Part& part, std::int64_t number, std::size_t layer, Tile& tile);
  void SetMoments(const Part& part, std::size_t number);
  void SetMeanGradients(const Part& part, std::size_t number);
  void SetFirstGradient(const Part& part, std::int64_t first_unit, std::int64_t position);
  void AddSums(const Part& part, std::int64_t begin, std::int64_t count, float* into) const;
  void SetSums(const Part& part, std::size_t number) const;

  // How many rows tile `number` has.
  static std::int64_t RowsOf(const Part& part, std::int64_t number) {
    return std::min(kTileRows, part.rows - number * kTileRows);
  }
  // Counts a tile whose part of a stage is done. True for the last of the stage's tiles.
  bool IsLast(std::int64_t tiles) {
    if (finished_.fetch_add(1) + 1 < tiles) return false;
    finished_ = 0;
    return true;
  }
  float* SumsOf(std::int64_t number) { return sums_.data() + number * sums_size_; }
  float* MomentsOf(std::int64_t number) { return moments_.data() + number * 2 * widest_; }

  // The gradient of a layer's output and then of its activation's input. The second layer of a
  // block leaves the gradient of the block's input along the residual connection there, so the
  // product of the block's first layer is added to it.
  float* GradientOf(std::size_t layer, Tile& tile) const {
    return tile.gradients[(layers_.size() - 1 - layer) % 2].data();
  }
  std::int64_t first_width() const { return layers_.front().shape.width; }
  std::int64_t last_width() const { return layers_.back().shape.width; }
  const T* first_matrix() const {
    if constexpr (kIsBf16<T>) {
      return layers_.front().forward.data();
    } else {
      return layers_.front().weight;
    }
  }
  const T* skip_of(std::size_t layer, const Tile& tile) const {
    return layers_[layer].adds_skip ? tile.x[layer - 2].data() : nullptr;
  }

  ResNetFC& net_;
  std::vector<at::Tensor> parameters_;
  const InputLayout input_;
  const std::int64_t outputs_;
  const std::int64_t parts_;
  const RowLoss loss_;
  at::Tensor flat_, flat_gradients_;
  const at::Tensor mean_loss_ = at::zeros({});  // of the last batch
  std::vector<at::Tensor> gradients_;
  AlignedVector<float> ones_, zeros_;  // the scale and shift of layers without

  std::vector<Layer> layers_;  // the hidden layers
  std::vector<Slice> slices_;
  const float *output_weight_ = nullptr, *output_bias_ = nullptr;
  float *output_weight_gradient_ = nullptr, *output_bias_gradient_ = nullptr;
  std::int64_t output_sums_ = 0;  // where the sums of the output layer begin
  std::int64_t sums_size_ = 0;
  std::int64_t widest_ = 0;                 // hidden layer
  bool normalises_batch_ = false;           // in some layer
  std::atomic<std::int64_t> finished_ = 0;  // tiles of the current stage (RunByLayer)

  std::int64_t capacity_ = 0;                  // rows
  AlignedVector<T> first_gradients_;           // of the first layer's product, in panels
  AlignedVector<std::uint32_t> order_, ends_;  // of SortRows: (positions, rows), (positions, depth)
  AlignedVector<float> sums_;                  // (tiles, sums_size_)
  AlignedVector<float> moments_;  // of the columns of each tile: mean and squares (widest_ each)
  std::vector<double> losses_;    // of each tile
  std::vector<Tile> tiles_;       // of each thread or, with batch normalisation, of each tile
};

template <class T>
void ResNetStep<T>::AddLayers() {
  std::size_t next = 0;  // parameters are in the order weight, bias, norm_weight, norm_bias
  const auto take = [&] {
    const std::size_t i = next++;
    return std::pair(parameters_.at(i).template const_data_ptr<float>(),
                     gradients_[i].template mutable_data_ptr<float>());
  };
  const std::vector<LayerShape> shapes = LayerShapes(net_.spec());
  widest_ = std::ranges::max(shapes, {}, &LayerShape::out).out;
  ones_.assign(static_cast<std::size_t>(widest_), 1);
  zeros_.assign(static_cast<std::size_t>(widest_), 0);
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    const LayerShape& shape = shapes[i];
    Layer layer{.shape = {.width = shape.out,
                          .norm = shape.norm == Norm::kBatch ? Norm::kNone : shape.norm,
                          .activation = net_.spec().layers.activation,
                          .linear = shape.linear,
                          .scale = ones_.data(),
                          .shift = zeros_.data()},
                .in = shape.in,
                .adds_skip = shape.adds_skip,
                .kept = {shape.out, shape.in}};
    std::tie(layer.weight, layer.weight_gradient) = take();
    std::tie(layer.shape.bias, layer.bias_gradient) = take();
    if (shape.norm != Norm::kNone) {
      std::tie(layer.shape.scale, layer.scale_gradient) = take();
    }
    if (shape.norm == Norm::kLayer || shape.norm == Norm::kBatch) {
      std::tie(layer.shape.shift, layer.shift_gradient) = take();
    }
    if (shape.norm == Norm::kBatch) AddStatistics(*net_.layers()[i], layer);
    layer.sums = {
        .bias = sums_size_, .scale = sums_size_ + shape.out, .shift = sums_size_ + 2 * shape.out};
    sums_size_ += 3 * shape.out;
    if (kIsBf16<T> || i > 0) layer.forward.resize(static_cast<std::size_t>(shape.in * shape.out));
    if (i > 0) layer.backward.resize(layer.forward.size());
    for (std::int64_t first = 0; i > 0 && first < shape.out; first += kPanelColumns) {
      slices_.push_back({.layer = i, .first = first});
    }
    layers_.push_back(std::move(layer));
  }
  std::tie(output_weight_, output_weight_gradient_) = take();
  std::tie(output_bias_, output_bias_gradient_) = take();
  output_sums_ = sums_size_;
  sums_size_ += outputs_ * (last_width() + 1);
}

template <class T>
void ResNetStep<T>::AddStatistics(Dense& of, Layer& layer) {
  normalises_batch_ = true;
  layer.running_mean = of.running_mean.template mutable_data_ptr<float>();
  layer.running_var = of.running_var.template mutable_data_ptr<float>();
  for (auto* of_units :
       {&layer.mean, &layer.inverse_deviation, &layer.mean_gradient, &layer.mean_product}) {
    of_units->resize(static_cast<std::size_t>(layer.shape.width));
  }
}

// Makes room for `rows` rows and for the current number of threads.
template <class T>
void ResNetStep<T>::Reserve(std::int64_t rows) {
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  if (rows > capacity_) {
    capacity_ = rows;
    for (std::size_t i = 1; i < layers_.size(); ++i) layers_[i].kept.Reserve(rows);
    first_gradients_.resize(size(rows * first_width()));
    order_.resize(size(input_.positions * rows));
    ends_.resize(size(input_.positions * input_.depth));
    const std::int64_t tiles = CeilDivide(rows, kTileRows);
    sums_.resize(size(tiles * sums_size_));
    if (normalises_batch_) moments_.resize(size(tiles * 2 * widest_));
    losses_.resize(size(tiles));
  }
  const auto threads = static_cast<std::size_t>(omp_get_max_threads());
  const auto all = normalises_batch_ ? size(CeilDivide(capacity_, kTileRows)) : 0;
  for (std::size_t i = tiles_.size(); i < std::max(threads, all); ++i) {
    Tile tile;
    std::int64_t widest = 0;
    for (const Layer& layer : layers_) {
      widest = std::max({widest, layer.shape.width, &layer == &layers_.front() ? 0 : layer.in});
      tile.z.emplace_back(size(kTileRows * layer.shape.width));
      tile.x.emplace_back(size(kTileRows * layer.shape.width));
      tile.inverse_deviation.emplace_back(size(kTileRows));
    }
    for (auto& gradient : tile.gradients) gradient.resize(size(kTileRows * widest));
    tile.product_gradient.resize(size(kTileRows * widest));
    tile.packed.resize(size(kPanelColumns * widest));
    tile.words.resize(size(kTileRows * widest));
    tile.y.resize(size(kTileRows * outputs_));
    tile.y_gradient.resize(size(kTileRows * outputs_));
    tiles_.push_back(std::move(tile));
  }
}

// The sum of the weights of all costs.
template <class T>
double ResNetStep<T>::CostWeightOf(std::int64_t rows, const at::Tensor& weights) const {
  if (!weights.defined()) {
    return static_cast<double>(std::max<std::int64_t>(1, rows * loss_.CostsOf(outputs_)));
  }
  const auto* values = weights.const_data_ptr<float>();
  const double sum = std::accumulate(values, values + weights.numel(), 0.0);
  return std::max<double>(sum, std::numeric_limits<float>::min());
}

// All loops hand out their pieces in any order, but no two pieces write to the same numbers.
template <class T>
double ResNetStep<T>::Run(const Part& part) {
  const std::int64_t tiles = CeilDivide(part.rows, kTileRows);
  const auto slices = static_cast<std::int64_t>(slices_.size());
  const auto layers = static_cast<std::int64_t>(layers_.size());
  const std::int64_t positions = input_.positions;
  const std::int64_t of_first = CeilDivide(first_width(), kFirstUnits) * positions;
  RegionFailure failure;
#pragma omp parallel
  {
    Tile& tile = tiles_[static_cast<std::size_t>(omp_get_thread_num())];
#pragma omp for schedule(dynamic)
    for (std::int64_t i = part.add ? slices : 0; i < slices + positions; ++i) {
      if (i < slices) {
        PackLayer(slices_[static_cast<std::size_t>(i)], tile);
      } else {
        if (!part.add) PackFirstWeights(i - slices);
        SortPosition(part, i - slices);
      }
    }
    if (normalises_batch_) {
      RunByLayer(part, failure);
    } else {
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < tiles; ++i) {
        failure.Catch([&] { RunTile(part, i, tile); });
      }
    }
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < slices + of_first + layers; ++i) {
      failure.Catch([&] {
        if (i < slices) {
          const Slice& slice = slices_[static_cast<std::size_t>(i)];
          const Layer& layer = layers_[slice.layer];
          layer.kept.Compute(part.rows, slice.first, part.add,
                             layer.weight_gradient + slice.first * layer.in);
        } else if (i < slices + of_first) {
          const std::int64_t number = i - slices;
          SetFirstGradient(part, number / positions * kFirstUnits, number % positions);
        } else {
          SetSums(part, static_cast<std::size_t>(i - slices - of_first));
        }
      });
    }
    failure.Catch([] { ReleaseBlocks<T>(); });
  }
  failure.Rethrow();
  return std::accumulate(losses_.begin(), losses_.begin() + tiles, 0.0);
}

// Puts the weights of some units of a layer into the order in which products take them.
template <class T>
void ResNetStep<T>::PackLayer(const Slice& slice, Tile& tile) {
  Layer& layer = layers_[slice.layer];
  PackWeights(layer.weight, slice.first, layer.in, layer.shape.width, tile.packed.data(),
              layer.forward.data());
  const T* rows = nullptr;
  if constexpr (kIsBf16<T>) {
    rows = tile.packed.data();
  } else {
    rows = layer.weight + slice.first * layer.in;
  }
  PackRows(slice.first, PanelWidth(slice.first, layer.shape.width), layer.in, rows,
           layer.shape.width, layer.backward.data());
}

template <class T>
void ResNetStep<T>::PackFirstWeights(std::int64_t position) {
  if constexpr (kIsBf16<T>) {
    Layer& layer = layers_.front();
    const std::int64_t count = input_.depth * layer.shape.width;
    RunPass(RoundToBf16{.count = count,
                        .from = layer.weight + position * count,
                        .to = layer.forward.data() + position * count});
  }
}

// Sorts the rows by a position of the input, for SetFirstGradient.
template <class T>
void ResNetStep<T>::SortPosition(const Part& part, std::int64_t position) {
  RunPass(SortRows{.rows = part.rows,
                   .positions = input_.positions,
                   .position = position,
                   .depth = input_.depth,
                   .bytes = part.bytes,
                   .order = order_.data() + position * part.rows,
                   .ends = ends_.data() + position * input_.depth});
}

template <class T>
void ResNetStep<T>::RunTile(const Part& part, std::int64_t number, Tile& tile) {
  const std::int64_t rows = RowsOf(part, number);
  std::fill_n(SumsOf(number), sums_size_, 0.0F);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Multiply(part, number, i, tile);
    Activate(rows, i, tile);
  }
  RunOutput(part, number, tile);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    ActivateBackward(part, number, i, tile);
    MultiplyBackward(part, number, i, tile);
  }
}

// With batch normalisation, no tile can finish a layer before the statistics of all rows are known.
// All tiles therefore do one layer before any does the next. The thread that does the last tile of
// a layer joins the statistics, so threads wait for each other once per layer and direction. Runs
// on each thread of a team.
template <class T>
void ResNetStep<T>::RunByLayer(const Part& part, RegionFailure& failure) {
  const std::int64_t tiles = CeilDivide(part.rows, kTileRows);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < tiles; ++number) {
      Tile& tile = tiles_[static_cast<std::size_t>(number)];
      failure.Catch([&] { RunLayer(part, number, i, tile); });
      if (IsLast(tiles)) SetMoments(part, i);
    }
  }
  const std::size_t last = layers_.size() - 1;
#pragma omp for schedule(dynamic)
  for (std::int64_t number = 0; number < tiles; ++number) {
    Tile& tile = tiles_[static_cast<std::size_t>(number)];
    failure.Catch([&] {
      std::fill_n(SumsOf(number), sums_size_, 0.0F);
      Activate(RowsOf(part, number), last, tile);
      RunOutput(part, number, tile);
      ActivateBackward(part, number, last, tile);
    });
    if (IsLast(tiles)) SetMeanGradients(part, last);
  }
  for (std::size_t i = layers_.size(); i-- > 0;) {
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < tiles; ++number) {
      Tile& tile = tiles_[static_cast<std::size_t>(number)];
      failure.Catch([&] {
        MultiplyBackward(part, number, i, tile);
        if (i > 0) ActivateBackward(part, number, i - 1, tile);
      });
      if (i > 0 && IsLast(tiles)) SetMeanGradients(part, i - 1);
    }
  }
}

// One layer of RunByLayer, and the moments of its columns.
template <class T>
void ResNetStep<T>::RunLayer(const Part& part, std::int64_t number, std::size_t layer, Tile& tile) {
  const std::int64_t rows = RowsOf(part, number);
  if (layer > 0) Activate(rows, layer - 1, tile);
  Multiply(part, number, layer, tile);
  if (!layers_[layer].normalises_batch()) return;
  RunPass(ColumnMoments{.rows = rows,
                        .width = layers_[layer].shape.width,
                        .z = tile.z[layer].data(),
                        .mean = MomentsOf(number),
                        .squares = MomentsOf(number) + widest_});
}

// The product of a layer's input with its weights.
template <class T>
void ResNetStep<T>::Multiply(const Part& part, std::int64_t number, std::size_t layer, Tile& tile) {
  Layer& l = layers_[layer];
  const std::int64_t first = number * kTileRows;
  const std::int64_t rows = RowsOf(part, number);
  if (layer == 0) {
    RunPass(GatherRows<T>{.rows = rows,
                          .positions = input_.positions,
                          .depth = input_.depth,
                          .width = l.shape.width,
                          .bytes = part.bytes + first * input_.positions,
                          .matrix = first_matrix(),
                          .sums = tile.z[0].data()});
    return;
  }
  l.kept.KeepInput(first, rows, tile.x[layer - 1].data());
  Product(rows, l.shape.width, l.in, tile.x[layer - 1].data(), l.in, l.forward.data(), l.in,
          tile.z[layer].data(), /*add=*/false);
}

// What follows the product. Batch normalisation has no use for the bias, which it would subtract.
template <class T>
void ResNetStep<T>::Activate(std::int64_t rows, std::size_t layer, Tile& tile) const {
  const Layer& l = layers_[layer];
  HiddenLayer shape = l.shape;
  if (l.normalises_batch()) {
    shape.bias = zeros_.data();
    RunPass(NormaliseColumns{.rows = rows,
                             .width = shape.width,
                             .mean = l.mean.data(),
                             .inverse_deviation = l.inverse_deviation.data(),
                             .z = tile.z[layer].data()});
  }
  RunPass(ActivateRows<T>{.layer = shape,
                          .rows = rows,
                          .z = tile.z[layer].data(),
                          .skip = skip_of(layer, tile),
                          .inverse_deviation = tile.inverse_deviation[layer].data(),
                          .out = tile.x[layer].data()});
}

// The output layer, the loss, and the backward pass of both.
template <class T>
void ResNetStep<T>::RunOutput(const Part& part, std::int64_t number, Tile& tile) {
  const std::int64_t rows = RowsOf(part, number);
  const T* hidden = tile.x.back().data();
  RunPass(OutputRows<T>{.rows = rows,
                        .width = last_width(),
                        .outputs = outputs_,
                        .x = hidden,
                        .weight = output_weight_,
                        .bias = output_bias_,
                        .y = tile.y.data()});
  const std::int64_t first_output = number * kTileRows * outputs_;
  losses_[static_cast<std::size_t>(number)] =
      loss_({.rows = rows,
             .outputs = outputs_,
             .y = tile.y.data(),
             .targets = part.targets + first_output,
             .weights = part.weights != nullptr ? part.weights + first_output : nullptr,
             .cost_scale = part.cost_scale,
             .row_scale = part.row_scale,
             .gradient = tile.y_gradient.data()});
  float* sums = SumsOf(number) + output_sums_;
  RunPass(OutputRowsBackward<T>{.rows = rows,
                                .width = last_width(),
                                .outputs = outputs_,
                                .x = hidden,
                                .weight = output_weight_,
                                .y_gradient = tile.y_gradient.data(),
                                .x_gradient = GradientOf(layers_.size() - 1, tile),
                                .weight_sums = sums,
                                .bias_sums = sums + outputs_ * last_width()});
}

// The backward pass of ActivateRows. Batch normalisation follows in MultiplyBackward, which knows
// the sums of all rows.
template <class T>
void ResNetStep<T>::ActivateBackward(const Part& part, std::int64_t number, std::size_t layer,
                                     Tile& tile) {
  const Layer& l = layers_[layer];
  float* sums = SumsOf(number);
  RunPass(ActivateRowsBackward<T>{.layer = l.shape,
                                  .rows = RowsOf(part, number),
                                  .z = tile.z[layer].data(),
                                  .skip = skip_of(layer, tile),
                                  .inverse_deviation = tile.inverse_deviation[layer].data(),
                                  .gradient = GradientOf(layer, tile),
                                  .product_gradient = tile.product_gradient.data(),
                                  .bias_sums = sums + l.sums.bias,
                                  .scale_sums = sums + l.sums.scale,
                                  .shift_sums = sums + l.sums.shift});
}

// The backward pass of batch normalisation, and of a layer's product.
template <class T>
void ResNetStep<T>::MultiplyBackward(const Part& part, std::int64_t number, std::size_t layer,
                                     Tile& tile) {
  Layer& l = layers_[layer];
  const std::int64_t width = l.shape.width;
  const std::int64_t rows = RowsOf(part, number);
  T* product_gradient = tile.product_gradient.data();
  if (l.normalises_batch()) {
    RunPass(NormaliseColumnsBackward<T>{.rows = rows,
                                        .width = width,
                                        .z = tile.z[layer].data(),
                                        .gradient = GradientOf(layer, tile),
                                        .scale = l.shape.scale,
                                        .inverse_deviation = l.inverse_deviation.data(),
                                        .mean_gradient = l.mean_gradient.data(),
                                        .mean_product = l.mean_product.data(),
                                        .product_gradient = product_gradient});
  }
  if (layer == 0) {
    CopyToPanels(kFirstUnits, number * kTileRows, rows, width, product_gradient, part.rows,
                 first_gradients_.data());
    return;
  }
  l.kept.KeepGradient(number * kTileRows, rows, product_gradient, tile.words.data());
  const bool begins_block = layer + 1 < layers_.size() && layers_[layer + 1].adds_skip;
  Product(rows, l.in, width, product_gradient, width, l.backward.data(), width,
          GradientOf(layer - 1, tile), /*add=*/begins_block);
}

// Joins the moments of all tiles (Chan, Golub and LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1982), and updates the running statistics as LibTorch
// does.
template <class T>
void ResNetStep<T>::SetMoments(const Part& part, std::size_t number) {
  Layer& layer = layers_[number];
  if (!layer.normalises_batch()) return;
  const std::int64_t tiles = CeilDivide(part.rows, kTileRows);
  const auto rows = static_cast<double>(part.rows);
  for (std::int64_t c = 0; c < layer.shape.width; ++c) {
    double mean = 0;
    double squares = 0;
    double before = 0;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const float* moments = MomentsOf(tile);
      const auto count = static_cast<double>(RowsOf(part, tile));
      const double difference = moments[c] - mean;
      const double all = before + count;
      mean += difference * count / all;
      squares += moments[widest_ + c] + difference * difference * before * count / all;
      before = all;
    }
    const auto unit = static_cast<std::size_t>(c);
    layer.mean[unit] = static_cast<float>(mean);
    layer.inverse_deviation[unit] =
        static_cast<float>(1 / std::sqrt(squares / rows + Dense::kEpsilon));
    const auto follow = [](float& running, double value) {
      running = static_cast<float>((1 - Dense::kMomentum) * running + Dense::kMomentum * value);
    };
    follow(layer.running_mean[c], mean + layer.shape.bias[c]);
    follow(layer.running_var[c], squares / std::max(1.0, rows - 1));
  }
}

template <class T>
void ResNetStep<T>::SetMeanGradients(const Part& part, std::size_t number) {
  Layer& layer = layers_[number];
  if (!layer.normalises_batch()) return;
  const std::int64_t tiles = CeilDivide(part.rows, kTileRows);
  const auto mean_of = [&](std::int64_t begin, AlignedVector<float>& means) {
    std::ranges::fill(means, 0.0F);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const float* from = SumsOf(tile) + begin;
      for (std::size_t c = 0; c < means.size(); ++c) means[c] += from[c];
    }
    for (float& mean : means) mean /= static_cast<float>(part.rows);
  };
  mean_of(layer.sums.shift, layer.mean_gradient);
  mean_of(layer.sums.scale, layer.mean_product);
}

// Adds up, for one position of the input, the gradients of kFirstUnits units from `first_unit` on.
template <class T>
void ResNetStep<T>::SetFirstGradient(const Part& part, std::int64_t first_unit,
                                     std::int64_t position) {
  const std::int64_t width = first_width();
  const std::int64_t count = PanelWidth(first_unit, width, kFirstUnits);
  float* into = layers_.front().weight_gradient + position * input_.depth * width + first_unit;
  for (std::int64_t v = 0; v < input_.depth && !part.add; ++v) {
    std::fill_n(into + v * width, count, 0.0F);
  }
  RunPass(ScatterRows<T>{.depth = input_.depth,
                         .width = count,
                         .stride = width,
                         .order = order_.data() + position * part.rows,
                         .ends = ends_.data() + position * input_.depth,
                         .gradient = first_gradients_.data() + first_unit * part.rows,
                         .into = into});
}

// Adds up what the tiles have in `count` places, tile by tile.
template <class T>
void ResNetStep<T>::AddSums(const Part& part, std::int64_t begin, std::int64_t count,
                            float* into) const {
  if (into == nullptr) return;
  if (!part.add) std::fill_n(into, count, 0.0F);
  const std::int64_t tiles = CeilDivide(part.rows, kTileRows);
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const float* from = sums_.data() + tile * sums_size_ + begin;
    for (std::int64_t i = 0; i < count; ++i) into[i] += from[i];
  }
}

template <class T>
void ResNetStep<T>::SetSums(const Part& part, std::size_t number) const {
  const Layer& layer = layers_[number];
  const std::int64_t width = layer.shape.width;
  if (!layer.normalises_batch()) {  // else the loss does not depend on the bias
    AddSums(part, layer.sums.bias, width, layer.bias_gradient);
  }
  AddSums(part, layer.sums.scale, width, layer.scale_gradient);
  AddSums(part, layer.sums.shift, width, layer.shift_gradient);
  if (number > 0) return;
  const std::int64_t weights = outputs_ * last_width();
  AddSums(part, output_sums_, weights, output_weight_gradient_);
  AddSums(part, output_sums_ + weights, outputs_, output_bias_gradient_);
}

}  // namespace

std::vector<at::Tensor> ViewsOf(const at::Tensor& flat, const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> views;
  std::int64_t begin = 0;
  for (const at::Tensor& parameter : parameters) {
    const at::Tensor part = flat.narrow(0, begin, parameter.numel());
    const bool by_feature = views.empty();
    views.push_back(by_feature ? part.view({parameter.size(1), parameter.size(0)}).t()
                               : part.view(parameter.sizes()));
    begin += parameter.numel();
  }
  return views;
}

namespace {

// Whether this machine has the products of hidden layers in `precision`.
bool HasProducts(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return HasBlocks<Bf16, Bf16, float>(Bf16{0}, Bf16{0}, 0);
    case Precision::kInt8:  // old processors add pairs of such products in 16 bits
      return HasBlocks<std::uint8_t, std::int8_t, std::int32_t>(255, 127, 255 * 127);
    case Precision::kFp8:
      return false;
    case Precision::kFp32:
    case Precision::kAuto:
      break;
  }
  return HasBlocks<float, float, float>(0, 0, 0);
}

}  // namespace

bool HasHiddenProducts(const NetworkConfig& network) {
  return network.stem_width > 0 || network.blocks > 0;
}

std::string WhyNotFused(const NetworkConfig& network, Precision precision, c10::Device device) {
  if (network.kind != kResNetFc) return "it computes networks of kind resnet_fc only";
  if (!device.is_cpu()) return "it runs on CPUs only";
  if (precision == Precision::kBf16 && (network.width % 2 != 0 || network.stem_width % 2 != 0)) {
    return "in bf16 it needs even network.width and network.stem_width";
  }
  if (HasHiddenProducts(network) && !HasProducts(precision)) {
    return fmt::format("LibTorch has no {} products of small blocks for this CPU",
                       NameOf(kInferencePrecisions, precision));
  }
  return "";
}

std::unique_ptr<FusedStep> MakeFusedStep(ResNetFC& net, const TrainingConfig& config) {
  if (config.precision == Precision::kBf16) return std::make_unique<ResNetStep<Bf16>>(net, config);
  return std::make_unique<ResNetStep<float>>(net, config);
}

}  // namespace tandem
