#include <ATen/ops/empty.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "nn/cpu/block_products.h"
#include "nn/cpu/cpu_backend.h"
#include "nn/cpu/fused_layers.h"
#include "nn/cpu/packed_weights.h"
#include "nn/cpu/passes.h"
#include "nn/resnet_fc.h"

namespace tandem {

namespace {

// T is the type of activations, and Weight that of the weights of products.
template <class T, class Weight>
class FusedCopy final : public NetworkCopy {
 public:
  explicit FusedCopy(const NetworkSpec& spec)
      : input_(spec.input),
        outputs_(spec.outputs),
        weights_(spec, at::kFloat, /*gathers=*/true, c10::kCPU),
        defaults_(weights_.shapes()),
        tables_(spec.input, LayerShapes(spec).front().out) {
    const std::vector<LayerShape>& plans = weights_.shapes();
    for (std::size_t i = 0; i + 1 < plans.size(); ++i) {
      layers_.push_back(
          {.plan = plans[i],
           .shape = defaults_.Describe(plans[i], spec.layers.activation, weights_[i])});
    }
    if (HiddenLayer& first = layers_.front().shape; kAddsIntegers && first.norm == Norm::kLayer) {
      first.bias = tables_.Centre(first.bias);
      first.norm = Norm::kRms;
    }
  }

  void Load(const Network& net) override { weights_.Load(net); }
  StateDict State() const override { return weights_.State(); }
  bool rows_are_independent() const override { return true; }

  at::Tensor Forward(const at::Tensor& inputs) override {
    const at::Tensor bytes = inputs.contiguous();
    CheckInputs(bytes, input_.depth, "evaluation");
    Pack();
    const std::int64_t rows = bytes.size(0);
    const std::int64_t tiles = CeilDivide(rows, kTileRows);
    at::Tensor outputs = at::empty({rows, outputs_}, at::TensorOptions().dtype(at::kFloat));
    const auto* from = bytes.const_data_ptr<std::uint8_t>();
    auto* to = outputs.mutable_data_ptr<float>();
    AddTiles(Size(omp_get_max_threads()));
    RegionFailure failure;
#pragma omp parallel if (tiles > 1)
    {
      Tile& tile = tiles_[Size(omp_get_thread_num())];
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < tiles; ++i) {
        const std::int64_t first = i * kTileRows;
        failure.Catch([&] {
          RunTile(std::min(kTileRows, rows - first), from + first * input_.positions,
                  to + first * outputs_, tile);
        });
      }
      failure.Catch([] { ReleaseBlocks<Weight>(); });
    }
    failure.Rethrow();
    return outputs;
  }

 private:
  static constexpr bool kIsInt8 = std::is_same_v<Weight, std::int8_t>;

  // The first layer adds up whole numbers unless the copy is in fp32.
  static constexpr bool kAddsIntegers = std::is_same_v<T, Bf16>;
  using Entry = std::conditional_t<kAddsIntegers, std::int16_t, float>;

  struct Layer {
    LayerShape plan;
    HiddenLayer shape = {};         // its pointers are those of the tensors of weights_
    AlignedVector<T> operand = {};  // the weights as a product takes them; not of the first layer
    Int8Weights int8 = {};          // in place of `operand`
  };

  // The memory of a thread for one tile.
  struct Tile {
    // The activations of layer i are in x[i % 3], until no layer needs them.
    std::array<AlignedVector<T>, 3> x;
    AlignedVector<std::uint8_t> values;  // of the positions of each table
    AlignedVector<Entry> entry_sums;     // of the first layer
    AlignedVector<float> z, inverse_deviation;
    AlignedVector<std::uint8_t> q;
    AlignedVector<float> scale, least;
    AlignedVector<std::int32_t> sums;
  };

  // Packs the weights if they were written, through Load or State, since they were last packed.
  void Pack() {
    const std::int64_t version = weights_.Version();
    if (version == packed_version_) return;
    for (std::size_t i = 0; i < layers_.size(); ++i) PackLayer(i);
    packed_version_ = version;
  }

  void PackLayer(std::size_t number) {
    Layer& layer = layers_[number];
    const std::int64_t in = layer.plan.in;
    const std::int64_t width = layer.plan.out;
    const auto* weight = weights_[number].weight.template const_data_ptr<float>();
    if (number == 0) {
      tables_.Pack(weight);
    } else if constexpr (kIsInt8) {
      layer.int8 = RoundToInt8(weight, in, width);
    } else {
      layer.operand.resize(Size(in * width));
      rounded_.resize(Size(kPanelColumns * in));
      for (std::int64_t first = 0; first < width; first += kPanelColumns) {
        PackWeights(weight, first, in, width, rounded_.data(), layer.operand.data());
      }
    }
  }

  void AddTiles(std::size_t threads) {
    while (tiles_.size() < threads) {
      Tile& tile = tiles_.emplace_back();
      const std::size_t size = Size(kTileRows * defaults_.widest());
      for (AlignedVector<T>& x : tile.x) x.resize(size);
      tile.values.resize(Size(kTileRows * tables_.num_tables()));
      tile.entry_sums.resize(Size(kTileRows * layers_.front().shape.width));
      tile.z.resize(size);
      tile.inverse_deviation.resize(Size(kTileRows));
      if constexpr (kIsInt8) {
        tile.q.resize(Size(kTileRows * (defaults_.widest() + kRowsPerWord<Weight>)));
        tile.scale.resize(Size(kTileRows));
        tile.least.resize(Size(kTileRows));
        tile.sums.resize(size);
      }
    }
  }

  // Sets tile.x[0] to the activations of the first layer.
  void RunFirstLayer(std::int64_t rows, const std::uint8_t* bytes, Tile& tile) const {
    tables_.LookUp(rows, bytes, tile.values.data(), tile.entry_sums.data());
    if constexpr (kAddsIntegers) {
      RunPass(ActivateSums{.layer = layers_.front().shape,
                           .rows = rows,
                           .sums = tile.entry_sums.data(),
                           .unit_scale = tables_.unit_scale(),
                           .out = tile.x[0].data()});
    } else {
      Activate(0, rows, tile.entry_sums.data(), tile);
    }
  }

  // Sets the activations of layer `number` from its product `z`.
  // NOLINTNEXTLINE(readability-non-const-parameter): ActivateRows writes to `z`
  void Activate(std::size_t number, std::int64_t rows, float* z, Tile& tile) const {
    const Layer& layer = layers_[number];
    RunPass(
        ActivateRows<T>{.layer = layer.shape,
                        .rows = rows,
                        .z = z,
                        .skip = layer.plan.adds_skip ? tile.x[(number - 2) % 3].data() : nullptr,
                        .inverse_deviation = tile.inverse_deviation.data(),
                        .out = tile.x[number % 3].data()});
  }

  // NOLINTNEXTLINE(readability-non-const-parameter): OutputRows writes to `outputs`
  void RunTile(std::int64_t rows, const std::uint8_t* bytes, float* outputs, Tile& tile) const {
    RunFirstLayer(rows, bytes, tile);
    for (std::size_t i = 1; i < layers_.size(); ++i) {
      Multiply(layers_[i], rows, tile.x[(i - 1) % 3].data(), tile);
      Activate(i, rows, tile.z.data(), tile);
    }
    const DenseTensors& output = weights_[layers_.size()];
    RunPass(OutputRows<T>{.rows = rows,
                          .width = layers_.back().plan.out,
                          .outputs = outputs_,
                          .x = tile.x[(layers_.size() - 1) % 3].data(),
                          .weight = output.weight.const_data_ptr<float>(),
                          .bias = output.bias.const_data_ptr<float>(),
                          .y = outputs});
  }

  // Sets tile.z to the product of `x` with the layer's weights.
  void Multiply(const Layer& layer, std::int64_t rows, const T* x, Tile& tile) const {
    const std::int64_t in = layer.plan.in;
    const std::int64_t width = layer.plan.out;
    if constexpr (kIsInt8) {
      const std::int64_t stride = Int8Weights::PaddedInputs(in);
      RunPass(QuantizeRows{.rows = rows,
                           .width = in,
                           .stride = stride,
                           .x = x,
                           .q = tile.q.data(),
                           .scale = tile.scale.data(),
                           .least = tile.least.data()});
      Product(rows, width, stride, tile.q.data(), stride, layer.int8.operand.data(), stride,
              tile.sums.data(), /*add=*/false);
      RunPass(DequantizeRows{.rows = rows,
                             .width = width,
                             .sums = tile.sums.data(),
                             .scale = tile.scale.data(),
                             .least = tile.least.data(),
                             .unit_scale = layer.int8.unit_scale.data(),
                             .unit_sum = layer.int8.unit_sum.data(),
                             .z = tile.z.data()});
    } else {
      Product(rows, width, in, x, in, layer.operand.data(), in, tile.z.data(),
              /*add=*/false);
    }
  }

  const InputLayout input_;
  const std::int64_t outputs_;
  FoldedLayers weights_;  // from which the operands of products are made
  const DefaultParameters defaults_;

  std::vector<Layer> layers_;  // the hidden layers
  FirstLayerTables<Entry> tables_;
  AlignedVector<T> rounded_;
  std::int64_t packed_version_ = -1;
  std::vector<Tile> tiles_;  // of each thread
};

}  // namespace

std::unique_ptr<NetworkCopy> MakeFusedCopy(const NetworkSpec& spec, Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return std::make_unique<FusedCopy<Bf16, Bf16>>(spec);
    case Precision::kInt8:
      return std::make_unique<FusedCopy<Bf16, std::int8_t>>(spec);
    case Precision::kFp32:
    case Precision::kFp8:
    case Precision::kAuto:
      break;
  }
  return std::make_unique<FusedCopy<float, float>>(spec);
}

}  // namespace tandem
