#include "nn/fused_step.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <numeric>
#include <vector>

#include "base/timeline.h"
#include "nn/activation_passes.h"
#include "nn/aligned_vector.h"
#include "nn/bf16.h"
#include "nn/block_products.h"
#include "nn/first_layer_gradient.h"
#include "nn/fused_layers.h"
#include "nn/fused_loss.h"
#include "nn/gather_passes.h"
#include "nn/region_failure.h"
#include "nn/tile_sums.h"

namespace tandem {
namespace {

std::size_t Size(std::int64_t count) { return static_cast<std::size_t>(count); }

// The parameters of a network, which it moves into one block of memory, and their gradients in
// another.
struct FlatParameters {
  explicit FlatParameters(const ResNetFC& net) : values(net.parameters()) {
    const c10::NoGradGuard no_grad;
    const std::vector<at::Tensor> views = ViewsOf(at::empty({net.NumParameters()}), values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      views[i].copy_(values[i]);
      values[i].set_data(views[i]);
    }
    gradients = ViewsOf(at::zeros({net.NumParameters()}), values);
  }

  std::vector<at::Tensor> values, gradients;
};

// The memory for one tile.
template <class T>
struct Tile {
  explicit Tile(const FusedLayers<T>& layers);

  // The gradient of a layer's output and then of its activation's input. The second layer of a
  // block leaves the gradient of the block's input along the residual connection there, so the
  // product of the block's first layer is added to it.
  float* GradientOf(std::size_t layer) { return gradients[(x.size() - 1 - layer) % 2].data(); }

  std::vector<AlignedVector<float>> z, inverse_deviation;  // of each layer
  std::vector<AlignedVector<T>> x;
  std::array<AlignedVector<float>, 2> gradients;
  AlignedVector<float> y, y_gradient;
  AlignedVector<T> product_gradient, packed;
  AlignedVector<std::uint32_t> words;
};

template <class T>
Tile<T>::Tile(const FusedLayers<T>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t width = layers[i].shape.width;
    z.emplace_back(Size(kTileRows * width));
    x.emplace_back(Size(kTileRows * width));
    inverse_deviation.emplace_back(Size(kTileRows));
  }
  for (auto& gradient : gradients) gradient.resize(Size(kTileRows * layers.widest()));
  product_gradient.resize(Size(kTileRows * layers.widest()));
  packed.resize(Size(kPanelColumns * layers.widest()));
  words.resize(Size(kTileRows * layers.widest()));
  y.resize(Size(kTileRows * layers.output().outputs));
  y_gradient.resize(Size(kTileRows * layers.output().outputs));
}

template <class T>
class ResNetStep final : public FusedStep {
 public:
  ResNetStep(const ResNetFC& net, const TrainingConfig& config)
      : input_(net.spec().input),
        outputs_(net.spec().outputs),
        parts_(config.accumulation_steps),
        loss_(net.spec().layers.head, config),
        parameters_(net),
        layers_(net, parameters_.gradients),
        first_gradient_(input_, layers_[0].shape.width),
        sums_(layers_) {}

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
    for (std::size_t i = 0; i < parameters_.values.size(); ++i) {
      parameters_.values[i].mutable_grad() = parameters_.gradients[i];
    }
    *mean_loss_.mutable_data_ptr<float>() = static_cast<float>(loss);
    return mean_loss_;
  }

 private:
  // Rows whose gradients are added to those of earlier parts of the batch.
  struct Part {
    std::int64_t rows;
    const std::uint8_t* bytes;
    const float *targets, *weights;
    double cost_scale, row_scale;
    bool add;

    std::int64_t tiles() const { return CeilDivide(rows, kTileRows); }
    // How many rows tile `number` has.
    std::int64_t RowsOf(std::int64_t number) const {
      return std::min(kTileRows, rows - number * kTileRows);
    }
  };

  void Reserve(std::int64_t rows);
  double CostWeightOf(std::int64_t rows, const at::Tensor& weights) const;

  double Run(const Part& part);
  void RunTile(const Part& part, std::int64_t number, Tile<T>& tile);
  void RunByLayer(const Part& part, RegionFailure& failure);

  void Multiply(const Part& part, std::int64_t number, std::size_t layer, Tile<T>& tile);
  void Activate(std::int64_t rows, std::size_t layer, Tile<T>& tile) const;
  void RunOutput(const Part& part, std::int64_t number, Tile<T>& tile);
  void ActivateBackward(const Part& part, std::int64_t number, std::size_t layer, Tile<T>& tile);
  void MultiplyBackward(const Part& part, std::int64_t number, std::size_t layer, Tile<T>& tile);

  void SetMoments(const Part& part, std::int64_t number, std::size_t layer, const Tile<T>& tile);
  void JoinMoments(const Part& part, std::size_t layer);
  void JoinGradients(const Part& part, std::size_t layer);

  // Counts a tile whose part of a stage is done. True for the last of the stage's tiles.
  bool IsLast(std::int64_t tiles) {
    if (finished_.fetch_add(1) + 1 < tiles) return false;
    finished_ = 0;
    return true;
  }
  const T* skip_of(std::size_t layer, const Tile<T>& tile) const {
    return layers_[layer].adds_skip ? tile.x[layer - 2].data() : nullptr;
  }

  const InputLayout input_;
  const std::int64_t outputs_;
  const std::int64_t parts_;
  const RowLoss loss_;
  FlatParameters parameters_;
  const at::Tensor mean_loss_ = at::zeros({});  // of the last batch

  FusedLayers<T> layers_;
  FirstLayerGradient<T> first_gradient_;
  TileSums<T> sums_;
  std::int64_t capacity_ = 0;     // rows
  std::vector<double> losses_;    // of each tile
  std::vector<Tile<T>> tiles_;    // of each thread or, with batch normalisation, of each tile
  AlignedVector<float> moments_;  // of each tile, for the current layer
  std::atomic<std::int64_t> finished_ = 0;  // tiles of the current stage (RunByLayer)
};

// Makes room for `rows` rows and for the current number of threads.
template <class T>
void ResNetStep<T>::Reserve(std::int64_t rows) {
  if (rows > capacity_) {
    capacity_ = rows;
    layers_.Reserve(rows);
    first_gradient_.Reserve(rows);
    const std::int64_t tiles = CeilDivide(rows, kTileRows);
    sums_.Reserve(tiles);
    if (layers_.normalises_batch()) moments_.resize(Size(tiles * 2 * layers_.widest()));
    losses_.resize(Size(tiles));
  }
  const auto threads = static_cast<std::size_t>(omp_get_max_threads());
  const auto all = layers_.normalises_batch() ? Size(CeilDivide(capacity_, kTileRows)) : 0;
  while (tiles_.size() < std::max(threads, all)) tiles_.emplace_back(layers_);
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
  const std::int64_t tiles = part.tiles();
  const std::int64_t positions = input_.positions;
  const std::int64_t panels = layers_.num_panels();
  const std::int64_t of_first = first_gradient_.NumPieces();
  const auto layers = static_cast<std::int64_t>(layers_.size());
  RegionFailure failure;
#pragma omp parallel
  {
    Tile<T>& tile = tiles_[Size(omp_get_thread_num())];
#pragma omp for schedule(dynamic)
    for (std::int64_t i = part.add ? panels : 0; i < panels + positions; ++i) {
      if (i < panels) {
        layers_.PackPanel(i, tile.packed.data());
      } else {
        if (!part.add) layers_.PackPosition(i - panels);
        first_gradient_.SortByPosition(part.rows, part.bytes, i - panels);
      }
    }
    if (layers_.normalises_batch()) {
      RunByLayer(part, failure);
    } else {
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < tiles; ++i) {
        failure.Catch([&] { RunTile(part, i, tile); });
      }
    }
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < panels + of_first + layers; ++i) {
      failure.Catch([&] {
        if (i < panels) {
          layers_.ComputeGradient(i, part.rows, part.add);
        } else if (i < panels + of_first) {
          first_gradient_.Compute(part.rows, i - panels, part.add, layers_[0].weight_gradient);
        } else {
          sums_.SetGradients(tiles, Size(i - panels - of_first), part.add);
        }
      });
    }
    failure.Catch([] { ReleaseBlocks<T>(); });
  }
  failure.Rethrow();
  return std::accumulate(losses_.begin(), losses_.begin() + tiles, 0.0);
}

template <class T>
void ResNetStep<T>::RunTile(const Part& part, std::int64_t number, Tile<T>& tile) {
  sums_.Clear(number);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Multiply(part, number, i, tile);
    Activate(part.RowsOf(number), i, tile);
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
  const std::int64_t tiles = part.tiles();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < tiles; ++number) {
      Tile<T>& tile = tiles_[Size(number)];
      failure.Catch([&] {
        if (i > 0) Activate(part.RowsOf(number), i - 1, tile);
        Multiply(part, number, i, tile);
        SetMoments(part, number, i, tile);
      });
      if (IsLast(tiles)) JoinMoments(part, i);
    }
  }
  const std::size_t last = layers_.size() - 1;
#pragma omp for schedule(dynamic)
  for (std::int64_t number = 0; number < tiles; ++number) {
    Tile<T>& tile = tiles_[Size(number)];
    failure.Catch([&] {
      sums_.Clear(number);
      Activate(part.RowsOf(number), last, tile);
      RunOutput(part, number, tile);
      ActivateBackward(part, number, last, tile);
    });
    if (IsLast(tiles)) JoinGradients(part, last);
  }
  for (std::size_t i = layers_.size(); i-- > 0;) {
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < tiles; ++number) {
      Tile<T>& tile = tiles_[Size(number)];
      failure.Catch([&] {
        MultiplyBackward(part, number, i, tile);
        if (i > 0) ActivateBackward(part, number, i - 1, tile);
      });
      if (i > 0 && IsLast(tiles)) JoinGradients(part, i - 1);
    }
  }
}

// The product of a layer's input with its weights.
template <class T>
void ResNetStep<T>::Multiply(const Part& part, std::int64_t number, std::size_t layer,
                             Tile<T>& tile) {
  FusedLayer<T>& l = layers_[layer];
  const std::int64_t first = number * kTileRows;
  const std::int64_t rows = part.RowsOf(number);
  if (layer == 0) {
    RunPass(GatherRows<T>{.rows = rows,
                          .positions = input_.positions,
                          .depth = input_.depth,
                          .width = l.shape.width,
                          .bytes = part.bytes + first * input_.positions,
                          .matrix = layers_.first_weights(),
                          .sums = tile.z[0].data()});
    return;
  }
  l.kept.KeepInput(first, rows, tile.x[layer - 1].data());
  Product(rows, l.shape.width, l.in, tile.x[layer - 1].data(), l.in, l.forward.data(), l.in,
          tile.z[layer].data(), /*add=*/false);
}

// What follows the product.
template <class T>
void ResNetStep<T>::Activate(std::int64_t rows, std::size_t layer, Tile<T>& tile) const {
  const FusedLayer<T>& l = layers_[layer];
  if (l.batch_norm) l.batch_norm->Normalise(rows, tile.z[layer].data());
  RunPass(ActivateRows<T>{.layer = l.shape,
                          .rows = rows,
                          .z = tile.z[layer].data(),
                          .skip = skip_of(layer, tile),
                          .inverse_deviation = tile.inverse_deviation[layer].data(),
                          .out = tile.x[layer].data()});
}

// The output layer, the loss, and the backward pass of both.
template <class T>
void ResNetStep<T>::RunOutput(const Part& part, std::int64_t number, Tile<T>& tile) {
  const std::int64_t rows = part.RowsOf(number);
  const FusedOutputLayer& output = layers_.output();
  const T* hidden = tile.x.back().data();
  RunPass(OutputRows<T>{.rows = rows,
                        .width = output.width,
                        .outputs = outputs_,
                        .x = hidden,
                        .weight = output.weight,
                        .bias = output.bias,
                        .y = tile.y.data()});
  const std::int64_t first_output = number * kTileRows * outputs_;
  losses_[Size(number)] =
      loss_({.rows = rows,
             .outputs = outputs_,
             .y = tile.y.data(),
             .targets = part.targets + first_output,
             .weights = part.weights != nullptr ? part.weights + first_output : nullptr,
             .cost_scale = part.cost_scale,
             .row_scale = part.row_scale,
             .gradient = tile.y_gradient.data()});
  const auto sums = sums_.OfOutput(number);
  RunPass(OutputRowsBackward<T>{.rows = rows,
                                .width = output.width,
                                .outputs = outputs_,
                                .x = hidden,
                                .weight = output.weight,
                                .y_gradient = tile.y_gradient.data(),
                                .x_gradient = tile.GradientOf(layers_.size() - 1),
                                .weight_sums = sums.weight,
                                .bias_sums = sums.bias});
}

// The backward pass of ActivateRows. Batch normalisation follows in MultiplyBackward, which knows
// the sums of all rows.
template <class T>
void ResNetStep<T>::ActivateBackward(const Part& part, std::int64_t number, std::size_t layer,
                                     Tile<T>& tile) {
  const auto sums = sums_.OfHidden(number, layer);
  RunPass(ActivateRowsBackward<T>{.layer = layers_[layer].shape,
                                  .rows = part.RowsOf(number),
                                  .z = tile.z[layer].data(),
                                  .skip = skip_of(layer, tile),
                                  .inverse_deviation = tile.inverse_deviation[layer].data(),
                                  .gradient = tile.GradientOf(layer),
                                  .product_gradient = tile.product_gradient.data(),
                                  .bias_sums = sums.bias,
                                  .scale_sums = sums.scale,
                                  .shift_sums = sums.shift});
}

// The backward pass of batch normalisation, and of a layer's product.
template <class T>
void ResNetStep<T>::MultiplyBackward(const Part& part, std::int64_t number, std::size_t layer,
                                     Tile<T>& tile) {
  FusedLayer<T>& l = layers_[layer];
  const std::int64_t width = l.shape.width;
  const std::int64_t first = number * kTileRows;
  const std::int64_t rows = part.RowsOf(number);
  T* product_gradient = tile.product_gradient.data();
  if (l.batch_norm) {
    l.batch_norm->Backward(rows, tile.z[layer].data(), tile.GradientOf(layer), product_gradient);
  }
  if (layer == 0) {
    first_gradient_.KeepGradient(first, rows, product_gradient, part.rows);
    return;
  }
  l.kept.KeepGradient(first, rows, product_gradient, tile.words.data());
  const bool begins_block = layer + 1 < layers_.size() && layers_[layer + 1].adds_skip;
  Product(rows, l.in, width, product_gradient, width, l.backward.data(), width,
          tile.GradientOf(layer - 1), /*add=*/begins_block);
}

// The moments of a tile's product.
template <class T>
void ResNetStep<T>::SetMoments(const Part& part, std::int64_t number, std::size_t layer,
                               const Tile<T>& tile) {
  const FusedLayer<T>& l = layers_[layer];
  if (!l.batch_norm) return;
  l.batch_norm->SetMoments(part.RowsOf(number), tile.z[layer].data(),
                           moments_.data() + number * 2 * l.shape.width);
}

template <class T>
void ResNetStep<T>::JoinMoments(const Part& part, std::size_t layer) {
  FusedLayer<T>& l = layers_[layer];
  if (l.batch_norm) l.batch_norm->JoinMoments(part.rows, moments_.data());
}

template <class T>
void ResNetStep<T>::JoinGradients(const Part& part, std::size_t layer) {
  FusedLayer<T>& l = layers_[layer];
  if (!l.batch_norm) return;
  const auto sums = sums_.OfHidden(/*tile=*/0, layer);
  l.batch_norm->JoinGradients(part.rows, sums.scale, sums.shift, sums_.stride());
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
