#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "base/timeline.h"
#include "nn/bf16.h"
#include "nn/cpu/block_products.h"
#include "nn/cpu/cpu_backend.h"
#include "nn/cpu/fused_layers.h"
#include "nn/cpu/passes.h"
#include "nn/resnet_fc.h"
#include "nn/training_loss.h"

namespace tandem {

namespace {

/// TileSums adds up the gradients of biases, of normalisations and of the output layer: first over
/// the rows of each tile, and then over the tiles of a batch, in their order. Calls for different
/// tiles, or for different layers, may run at the same time.
template <class T>
class TileSums {
 public:
  /// `layers` must outlive it.
  explicit TileSums(const FusedLayers<T>& layers) : layers_(layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      begins_.push_back(stride_);
      stride_ += 3 * layers[i].plan.out;
    }
    output_begin_ = stride_;
    stride_ += layers.output().weight.numel() + layers.output().bias.numel();
  }

  void Reserve(std::int64_t tiles) { sums_.resize(Size(tiles * stride_)); }
  void Clear(std::int64_t tile) { std::fill_n(sums_.data() + tile * stride_, stride_, 0.0F); }

  /// Where a tile adds its rows: the gradients of a hidden layer's bias, scale and shift, (3,
  /// width), and those of the output layer's weights and bias.
  float* OfHidden(std::int64_t tile, std::size_t layer) {
    return sums_.data() + tile * stride_ + begins_[layer];
  }
  float* OfOutput(std::int64_t tile) { return sums_.data() + tile * stride_ + output_begin_; }

  /// The sums of the next tile begin `stride` numbers later.
  std::int64_t stride() const { return stride_; }

  /// Sets the gradients of hidden layer `layer`, or adds to them if `add`. Those of the output
  /// layer are set with those of the first layer.
  void SetGradients(std::int64_t tiles, std::size_t layer, bool add) const {
    const DenseTensors& hidden = layers_[layer].gradients;
    const std::int64_t width = layers_[layer].plan.out;
    AddTiles(tiles, begins_[layer], add, hidden.bias);
    AddTiles(tiles, begins_[layer] + width, add, hidden.norm_weight);
    AddTiles(tiles, begins_[layer] + 2 * width, add, hidden.norm_bias);
    if (layer > 0) return;
    const DenseTensors& output = layers_.output_gradients();
    AddTiles(tiles, output_begin_, add, output.weight);
    AddTiles(tiles, output_begin_ + output.weight.numel(), add, output.bias);
  }

 private:
  // Adds up what the tiles have for a gradient, from number `begin` on.
  void AddTiles(std::int64_t tiles, std::int64_t begin, bool add,
                const at::Tensor& gradient) const {
    if (!gradient.defined()) return;
    const std::int64_t count = gradient.numel();
    auto* into = gradient.mutable_data_ptr<float>();
    if (!add) std::fill_n(into, count, 0.0F);
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const float* from = sums_.data() + tile * stride_ + begin;
      for (std::int64_t i = 0; i < count; ++i) into[i] += from[i];
    }
  }

  const FusedLayers<T>& layers_;
  std::vector<std::int64_t> begins_;  // of each hidden layer
  std::int64_t output_begin_ = 0;
  std::int64_t stride_ = 0;
  AlignedVector<float> sums_;  // (tiles, stride_)
};

/// TileMemory is the memory for one tile.
template <class T>
struct TileMemory {
  explicit TileMemory(const FusedLayers<T>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      z.emplace_back(Size(kTileRows * layers[i].plan.out));
      x.emplace_back(Size(kTileRows * layers[i].plan.out));
      inverse_deviation.emplace_back(Size(kTileRows));
    }
    for (auto& gradient : gradients) gradient.resize(Size(kTileRows * layers.widest()));
    product_gradient.resize(Size(kTileRows * layers.widest()));
    packed.resize(Size(kPanelColumns * layers.widest()));
    if (layers.multiplies_first()) one_hot.resize(Size(kTileRows * layers[0].plan.in));
    words.resize(std::max(Size(kTileRows * layers.widest()), one_hot.size()));
    y.resize(Size(kTileRows * layers.output().bias.numel()));
    y_gradient.resize(y.size());
  }

  /// The gradient of a layer's output and then of its activation's input. The second layer of a
  /// block leaves the gradient of the block's input along the residual connection there, so the
  /// product of the block's first layer is added to it.
  float* GradientOf(std::size_t layer) { return gradients[(x.size() - 1 - layer) % 2].data(); }

  /// The activations to which the second layer of a block adds its own; null for other layers.
  const T* SkipOf(const FusedLayers<T>& layers, std::size_t layer) const {
    return layers[layer].plan.adds_skip ? x[layer - 2].data() : nullptr;
  }

  std::vector<AlignedVector<float>> z, inverse_deviation;  ///< of each layer
  std::vector<AlignedVector<T>> x;
  std::array<AlignedVector<float>, 2> gradients;
  AlignedVector<float> y, y_gradient;
  AlignedVector<T> one_hot;  ///< the input, if the first layer is multiplied
  AlignedVector<T> product_gradient, packed;
  AlignedVector<std::uint32_t> words;
};

/// FusedStep takes tiles of rows through the layers of a network and back, and adds up the
/// gradients of its parameters. It divides the work into pieces, which threads take in any order;
/// no two pieces write to the same numbers.
template <class T>
class FusedStep final : public GradientStep {
 public:
  FusedStep(const ResNetFC& net, const TrainingConfig& config, bool multiplies_first)
      : input_(net.spec().input),
        outputs_(net.spec().outputs),
        parts_(config.accumulation_steps),
        loss_(net.spec().layers.head, config),
        parameters_(net, FlatParameters::Copies::kNone, /*padding=*/0),
        layers_(net, parameters_, multiplies_first),
        sums_(layers_) {
    if (!multiplies_first) first_gradient_.emplace(input_, layers_[0].plan.out);
  }

  at::Tensor SetGradients(const at::Tensor& inputs, const at::Tensor& targets,
                          const at::Tensor& weights) override {
    const Span span(Activity::kBackward);
    const c10::NoGradGuard no_grad;
    CheckInputs(inputs, input_.depth, "training step");
    const std::int64_t rows = inputs.size(0) / parts_;
    Reserve(rows);
    part_ = {.rows = rows,
             .cost_scale = loss_.CostScale(rows * parts_, outputs_, weights),
             .row_scale = 1 / static_cast<double>(rows * parts_)};
    double loss = 0;
    for (std::int64_t i = 0; i < parts_; ++i) {
      const std::int64_t first = i * rows;
      part_.bytes = inputs.const_data_ptr<std::uint8_t>() + first * input_.positions;
      part_.targets = targets.const_data_ptr<float>() + first * outputs_;
      part_.weights =
          weights.defined() ? weights.const_data_ptr<float>() + first * outputs_ : nullptr;
      part_.add = i > 0;
      loss += Run();
    }
    parameters_.AttachGradients();
    *mean_loss_.mutable_data_ptr<float>() = static_cast<float>(loss);
    return mean_loss_;
  }

  FlatParameters* flat() override { return &parameters_; }

 private:
  // Rows of a batch. Their gradients are added to those of earlier parts if `add`.
  struct Part {
    std::int64_t rows = 0;
    const std::uint8_t* bytes = nullptr;                 // (rows, positions)
    const float *targets = nullptr, *weights = nullptr;  // (rows, outputs); no weights: null
    double cost_scale = 0, row_scale = 0;                // of the batch (TrainingLoss::HostRows)
    bool add = false;

    std::int64_t num_tiles() const { return CeilDivide(rows, kTileRows); }
    std::int64_t RowsOf(std::int64_t tile) const {
      return std::min(kTileRows, rows - tile * kTileRows);
    }
  };

  // Makes room for `rows` rows and for the current threads. Allocates only if there is less room.
  void Reserve(std::int64_t rows) {
    if (rows > capacity_) {
      layers_.Reserve(rows);
      if (first_gradient_) first_gradient_->Reserve(rows);
      const std::int64_t tiles = CeilDivide(rows, kTileRows);
      sums_.Reserve(tiles);
      if (layers_.normalises_batch()) moments_.resize(Size(tiles * 2 * layers_.widest()));
      losses_.resize(Size(tiles));
      capacity_ = rows;  // last, so that a failed allocation leaves the old capacity
    }
    const auto threads = static_cast<std::size_t>(omp_get_max_threads());
    const auto all = layers_.normalises_batch() ? Size(CeilDivide(capacity_, kTileRows)) : 0;
    while (memory_.size() < std::max(threads, all)) memory_.emplace_back(layers_);
  }

  // Takes part_ through the network and back. Returns its share of the loss of the batch.
  double Run() {
    const std::int64_t tiles = part_.num_tiles();
    const std::int64_t preparations = (first_gradient_ ? input_.positions : 0) + PanelsToPack();
    const std::int64_t gradients =
        layers_.num_panels() + NumPiecesOfFirst() + static_cast<std::int64_t>(layers_.size());
    RegionFailure failure;
#pragma omp parallel
    {
      TileMemory<T>& memory = memory_[Size(omp_get_thread_num())];
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < preparations; ++i) Prepare(i, memory);
      if (layers_.normalises_batch()) {
        RunByLayer(failure);
      } else {
#pragma omp for schedule(dynamic)
        for (std::int64_t i = 0; i < tiles; ++i) {
          failure.Catch([&] { RunTile(i, memory); });
        }
      }
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < gradients; ++i) {
        failure.Catch([&] { SetGradientsOf(i); });
      }
      failure.Catch([] { ReleaseBlocks<T>(); });
    }
    failure.Rethrow();
    return std::accumulate(losses_.begin(), losses_.begin() + tiles, 0.0);
  }

  void RunTile(std::int64_t tile, TileMemory<T>& memory) {
    const std::size_t layers = layers_.size();
    for (std::size_t i = 0; i < layers; ++i) {
      Multiply(tile, i, memory);
      Activate(tile, i, memory);
    }
    RunOutput(tile, memory);
    for (std::size_t i = layers; i-- > 0;) {
      ActivateBackward(tile, i, memory);
      MultiplyBackward(tile, i, memory);
    }
  }

  // With batch normalisation, no tile can finish a layer before the statistics of all rows are
  // known. All tiles therefore do one layer before any does the next. The thread that does the last
  // tile of a layer joins the statistics, so threads wait for each other once per layer and
  // direction. Runs on each thread of a team.
  void RunByLayer(RegionFailure& failure) {
    const std::int64_t tiles = part_.num_tiles();
    const std::size_t layers = layers_.size();
    for (std::size_t i = 0; i < layers; ++i) {
#pragma omp for schedule(dynamic)
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        TileMemory<T>& memory = memory_[Size(tile)];
        failure.Catch([&] {
          if (i > 0) Activate(tile, i - 1, memory);
          Multiply(tile, i, memory);
        });
        if (IsLast(tiles)) JoinMoments(i);
      }
    }
    const std::size_t last = layers - 1;
#pragma omp for schedule(dynamic)
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      TileMemory<T>& memory = memory_[Size(tile)];
      failure.Catch([&] {
        Activate(tile, last, memory);
        RunOutput(tile, memory);
        ActivateBackward(tile, last, memory);
      });
      if (IsLast(tiles)) JoinGradients(last);
    }
    for (std::size_t i = layers; i-- > 0;) {
#pragma omp for schedule(dynamic)
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        TileMemory<T>& memory = memory_[Size(tile)];
        failure.Catch([&] {
          MultiplyBackward(tile, i, memory);
          if (i > 0) ActivateBackward(tile, i - 1, memory);
        });
        if (i > 0 && IsLast(tiles)) JoinGradients(i - 1);
      }
    }
  }

  // Counts a tile whose part of a stage is done. True for the last of the stage's tiles.
  bool IsLast(std::int64_t tiles) {
    if (finished_.fetch_add(1) + 1 < tiles) return false;
    finished_ = 0;
    return true;
  }

  // Parts of a batch have the same weights, so only the first part makes the operands of products.
  std::int64_t PanelsToPack() const { return part_.add ? 0 : layers_.num_panels(); }

  std::int64_t NumPiecesOfFirst() const {
    return first_gradient_ ? first_gradient_->NumPieces() : 0;
  }

  // Makes the operands of products from the current weights, and sorts the rows for the gradient of
  // a first layer that is gathered.
  void Prepare(std::int64_t piece, TileMemory<T>& memory) {
    const std::int64_t panels = PanelsToPack();
    if (piece < panels) return layers_.PackPanel(piece, memory.packed.data());
    const std::int64_t position = piece - panels;
    if (!part_.add) layers_.PackPosition(position);
    first_gradient_->SortByPosition(part_.rows, part_.bytes, position);
  }

  // Multiplies the layer's input by its weights, and computes the moments for batch normalisation.
  void Multiply(std::int64_t tile, std::size_t layer, TileMemory<T>& memory) {
    FusedLayer<T>& l = layers_[layer];
    const std::int64_t in = l.plan.in;
    const std::int64_t width = l.plan.out;
    const std::int64_t first = tile * kTileRows;
    const std::int64_t rows = part_.RowsOf(tile);
    const std::uint8_t* bytes = part_.bytes + first * input_.positions;
    float* z = memory.z[layer].data();
    if (layer == 0 && layers_.multiplies_first()) {
      T* x = memory.one_hot.data();
      WriteOneHot(rows, bytes, x);
      l.kept.KeepGradient(first, rows, x, memory.words.data());
      Product(rows, width, in, x, in, l.forward.data(), in, z, /*add=*/false);
    } else if (layer == 0) {
      RunPass(GatherRows<T>{.rows = rows,
                            .positions = input_.positions,
                            .depth = input_.depth,
                            .width = width,
                            .bytes = bytes,
                            .matrix = layers_.first_weights(),
                            .sums = z});
    } else {
      const T* x = memory.x[layer - 1].data();
      l.kept.KeepInput(first, rows, x);
      Product(rows, width, in, x, in, l.forward.data(), in, z, /*add=*/false);
    }
    if (l.batch_norm) l.batch_norm->SetMoments(rows, z, moments_.data() + tile * 2 * width);
  }

  void WriteOneHot(std::int64_t rows, const std::uint8_t* bytes, T* to) const {
    T one;
    Narrow(1.0F, one);
    std::fill_n(to, rows * input_.positions * input_.depth, T{});
    for (std::int64_t i = 0; i < rows * input_.positions; ++i) {
      to[i * input_.depth + bytes[i]] = one;
    }
  }

  // Does what follows the product.
  void Activate(std::int64_t tile, std::size_t layer, TileMemory<T>& memory) const {
    const FusedLayer<T>& l = layers_[layer];
    const std::int64_t rows = part_.RowsOf(tile);
    float* z = memory.z[layer].data();
    if (l.batch_norm) l.batch_norm->Normalise(rows, z);
    RunPass(ActivateRows<T>{.layer = l.shape,
                            .rows = rows,
                            .z = z,
                            .skip = memory.SkipOf(layers_, layer),
                            .inverse_deviation = memory.inverse_deviation[layer].data(),
                            .out = memory.x[layer].data()});
  }

  // The output layer, the loss, and the backward pass of both.
  void RunOutput(std::int64_t tile, TileMemory<T>& memory) {
    sums_.Clear(tile);
    const std::int64_t rows = part_.RowsOf(tile);
    const std::int64_t width = layers_[layers_.size() - 1].plan.out;
    const auto* weight = layers_.output().weight.template const_data_ptr<float>();
    const T* hidden = memory.x.back().data();
    RunPass(OutputRows<T>{.rows = rows,
                          .width = width,
                          .outputs = outputs_,
                          .x = hidden,
                          .weight = weight,
                          .bias = layers_.output().bias.template const_data_ptr<float>(),
                          .y = memory.y.data()});
    const std::int64_t first_output = tile * kTileRows * outputs_;
    losses_[Size(tile)] =
        loss_.RowLoss({.rows = rows,
                       .outputs = outputs_,
                       .y = memory.y.data(),
                       .targets = part_.targets + first_output,
                       .weights = part_.weights != nullptr ? part_.weights + first_output : nullptr,
                       .cost_scale = part_.cost_scale,
                       .row_scale = part_.row_scale,
                       .gradient = memory.y_gradient.data()});
    float* sums = sums_.OfOutput(tile);
    RunPass(OutputRowsBackward<T>{.rows = rows,
                                  .width = width,
                                  .outputs = outputs_,
                                  .x = hidden,
                                  .weight = weight,
                                  .y_gradient = memory.y_gradient.data(),
                                  .x_gradient = memory.GradientOf(layers_.size() - 1),
                                  .weight_sums = sums,
                                  .bias_sums = sums + outputs_ * width});
  }

  // The backward pass of Activate, without batch normalisation.
  void ActivateBackward(std::int64_t tile, std::size_t layer, TileMemory<T>& memory) {
    const std::int64_t width = layers_[layer].plan.out;
    float* sums = sums_.OfHidden(tile, layer);
    RunPass(ActivateRowsBackward<T>{.layer = layers_[layer].shape,
                                    .rows = part_.RowsOf(tile),
                                    .z = memory.z[layer].data(),
                                    .skip = memory.SkipOf(layers_, layer),
                                    .inverse_deviation = memory.inverse_deviation[layer].data(),
                                    .gradient = memory.GradientOf(layer),
                                    .product_gradient = memory.product_gradient.data(),
                                    .bias_sums = sums,
                                    .scale_sums = sums + width,
                                    .shift_sums = sums + 2 * width});
  }

  // The backward pass of batch normalisation, which needs the sums of all rows, and of Multiply.
  void MultiplyBackward(std::int64_t tile, std::size_t layer, TileMemory<T>& memory) {
    FusedLayer<T>& l = layers_[layer];
    const std::int64_t width = l.plan.out;
    const std::int64_t first = tile * kTileRows;
    const std::int64_t rows = part_.RowsOf(tile);
    T* gradient = memory.product_gradient.data();
    if (l.batch_norm) {
      l.batch_norm->Backward(rows, memory.z[layer].data(), memory.GradientOf(layer), gradient);
    }
    if (layer == 0 && layers_.multiplies_first()) return l.kept.KeepInput(first, rows, gradient);
    if (layer == 0) return first_gradient_->KeepGradient(first, rows, gradient, part_.rows);
    l.kept.KeepGradient(first, rows, gradient, memory.words.data());
    Product(rows, l.plan.in, width, gradient, width, l.backward.data(), width,
            memory.GradientOf(layer - 1), /*add=*/l.plan.begins_block);
  }

  // Join what Multiply and ActivateBackward computed for batch normalisation.
  void JoinMoments(std::size_t layer) {
    FusedLayer<T>& l = layers_[layer];
    if (l.batch_norm) l.batch_norm->JoinMoments(part_.rows, moments_.data());
  }
  void JoinGradients(std::size_t layer) {
    FusedLayer<T>& l = layers_[layer];
    if (!l.batch_norm) return;
    const float* sums = sums_.OfHidden(/*tile=*/0, layer);
    l.batch_norm->JoinGradients(part_.rows, sums + l.plan.out, sums + 2 * l.plan.out,
                                sums_.stride());
  }

  // Sets the gradients of some parameters, or adds to them. The pieces are panels of weights,
  // pieces of the weights of a first layer that is gathered, and layers.
  void SetGradientsOf(std::int64_t piece) {
    const std::int64_t panels = layers_.num_panels();
    const std::int64_t of_first = NumPiecesOfFirst();
    if (piece < panels) {
      layers_.ComputeGradient(piece, part_.rows, part_.add);
    } else if (piece < panels + of_first) {
      first_gradient_->Compute(part_.rows, piece - panels, part_.add, layers_[0].weight_gradient());
    } else {
      sums_.SetGradients(part_.num_tiles(), Size(piece - panels - of_first), part_.add);
    }
  }

  const InputLayout input_;
  const std::int64_t outputs_;
  const std::int64_t parts_;
  const TrainingLoss loss_;
  FlatParameters parameters_;
  FusedLayers<T> layers_;
  std::optional<FirstLayerGradient<T>> first_gradient_;  // if the first layer is gathered
  TileSums<T> sums_;
  Part part_;                                   // the current one
  std::int64_t capacity_ = 0;                   // rows
  std::vector<double> losses_;                  // of each tile
  AlignedVector<float> moments_;                // of each tile, for the current layer
  const at::Tensor mean_loss_ = at::zeros({});  // of the last batch
  std::vector<TileMemory<T>> memory_;  // of each thread or, with batch normalisation, each tile
  std::atomic<std::int64_t> finished_ = 0;  // tiles of the current stage (RunByLayer)
};

}  // namespace

std::unique_ptr<GradientStep> MakeFusedStep(ResNetFC& net, const TrainingConfig& config,
                                            std::optional<bool> multiplies_first) {
  if (config.precision != Precision::kBf16) {
    return std::make_unique<FusedStep<float>>(net, config, /*multiplies_first=*/false);
  }
  return std::make_unique<FusedStep<Bf16>>(
      net, config,
      multiplies_first.value_or(MultipliesFirstLayer(config.precision, net.spec().input)));
}

}  // namespace tandem
