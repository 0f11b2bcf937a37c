#include "nn/fused_copy.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "nn/aligned_vector.h"
#include "nn/block_products.h"
#include "nn/fused_kernels.h"
#include "nn/fused_step.h"
#include "nn/region_failure.h"
#include "nn/resnet_fc.h"
#include "nn/resnet_fc_copy.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::size_t Size(std::int64_t count) { return static_cast<std::size_t>(count); }

// The weights of a hidden layer in int8, as the second operand of a product.
struct Int8Weights {
  AlignedVector<std::int8_t> operand;         // (inputs rounded up to 4, units), in panels
  AlignedVector<float> unit_scale, unit_sum;  // (units); DequantizeRows
};

Int8Weights Quantize(const float* weight, std::int64_t in, std::int64_t out) {
  constexpr float kMost = 127;
  constexpr std::int64_t kJoined = kRowsOfWords<std::int8_t>;
  const std::int64_t rounded_in = CeilDivide(in, kJoined) * kJoined;
  Int8Weights to{.operand = AlignedVector<std::int8_t>(Size(rounded_in * out)),
                 .unit_scale = AlignedVector<float>(Size(out)),
                 .unit_sum = AlignedVector<float>(Size(out))};
  for (std::int64_t unit = 0; unit < out; ++unit) {
    const float* row = weight + unit * in;
    const std::int64_t panel = unit / kPanelColumns * kPanelColumns;
    const std::int64_t panel_width = PanelWidth(panel, out);
    std::int8_t* column = to.operand.data() + panel * rounded_in + (unit - panel) * kJoined;
    float most = 0;
    float total = 0;
    for (std::int64_t i = 0; i < in; ++i) {
      most = std::max(most, std::abs(row[i]));
      total += std::abs(row[i]);
    }
    // A weight that is no number must make the unit's values no numbers.
    const bool finite = std::isfinite(total);
    const float scale = finite ? most / kMost : std::numeric_limits<float>::quiet_NaN();
    const float inverse = finite && most > 0 ? kMost / most : 0;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; finite && i < in; ++i) {
      const auto rounded = static_cast<std::int8_t>(std::lrint(row[i] * inverse));
      sum += rounded;
      column[i / kJoined * panel_width * kJoined + i % kJoined] = rounded;
    }
    to.unit_scale[Size(unit)] = scale;
    to.unit_sum[Size(unit)] = static_cast<float>(sum) * scale;
  }
  return to;
}

// The first layer looks up the sum of the weights of several positions of the input at once.
// Returns how many: as many as have at most 256 values together, in tables that stay in a core's
// cache.
std::int64_t PositionsTogether(InputLayout input, std::int64_t width,
                               std::size_t bytes_per_number) {
  constexpr std::int64_t kMostValues = 256;
  constexpr std::int64_t kMostBytes = 512 << 10;
  const std::int64_t bytes_per_row = width * static_cast<std::int64_t>(bytes_per_number);
  std::int64_t together = 1;
  for (std::int64_t values = input.depth;; ++together) {
    values *= input.depth;
    const std::int64_t tables = CeilDivide(input.positions, together + 1);
    if (values > kMostValues || tables * values * bytes_per_row > kMostBytes) return together;
    if (together + 1 > input.positions) return together;
  }
}

// T is the type of activations, and Weight that of the weights of products.
template <class T, class Weight>
class FusedCopy final : public NetworkCopy {
 public:
  explicit FusedCopy(const NetworkSpec& spec)
      : input_(spec.input), outputs_(spec.outputs), weights_(spec, Unpacked(), c10::kCPU) {
    AddLayers(spec);
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

  // The first layer adds up whole numbers unless the copy is in fp32: they take half the memory of
  // floats, and one instruction adds up to 32 of them.
  static constexpr bool kAddsIntegers = std::is_same_v<T, Bf16>;
  using Entry = std::conditional_t<kAddsIntegers, std::int16_t, float>;

  // Of the weights from which the operands of products are made.
  static InferenceConfig Unpacked() {
    return {.precision = Precision::kFp32, .first_layer = FirstLayer::kGather};
  }

  struct Layer {
    HiddenLayer shape = {};  // its pointers are those of the tensors
    std::int64_t in = 0;
    bool adds_skip = false;    // the second layer of a block adds the block's input
    at::Tensor weight;         // (width, in); the first layer's are stored by feature
    AlignedVector<T> operand;  // the weights as a product takes them; not of the first layer
    Int8Weights int8;          // in place of `operand`
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

  void AddLayers(const NetworkSpec& spec);
  void Pack();
  void PackLayer(std::size_t number);
  void PackTables(const float* weight);
  void Centre(AlignedVector<float>& entries);
  float GreatestSum() const;
  void RoundTables(const AlignedVector<float>& entries);
  void AddTiles(std::size_t threads);
  void LookUp(std::int64_t rows, const std::uint8_t* bytes, Tile& tile) const;
  void RunFirstLayer(std::int64_t rows, const std::uint8_t* bytes, Tile& tile) const;
  void Activate(const Layer& layer, std::int64_t rows, float* z, const T* skip, Tile& tile,
                T* out) const;
  void RunTile(std::int64_t rows, const std::uint8_t* bytes, float* outputs, Tile& tile) const;
  void Multiply(const Layer& layer, std::int64_t rows, const T* x, Tile& tile) const;

  const InputLayout input_;
  const std::int64_t outputs_;
  ResNetFCCopy weights_;
  StateDict state_;  // of weights_
  AlignedVector<float> ones_, zeros_;
  at::Tensor output_weight_, output_bias_;
  std::int64_t widest_ = 0;
  // The first layer has `num_tables_` tables, of `values_` rows each, for `together_` positions
  // each.
  std::int64_t together_ = 1, num_tables_ = 0, values_ = 0;
  const float* first_bias_ = nullptr;  // if the first layer is centred (Centre), otherwise null

  std::vector<Layer> layers_;    // the hidden layers
  AlignedVector<Entry> tables_;  // (num_tables_ * values_, width)
  AlignedVector<float> centred_bias_;
  AlignedVector<float> table_scale_;  // (width), by which integers are multiplied
  AlignedVector<T> rounded_;
  std::int64_t packed_version_ = -1;
  std::vector<Tile> tiles_;  // of each thread
};

template <class T, class Weight>
void FusedCopy<T, Weight>::AddLayers(const NetworkSpec& spec) {
  state_ = weights_.State();
  std::size_t next = 0;  // tensors are in the order weight, bias, norm_weight, norm_bias
  const auto take = [&] { return state_.at(next++).second; };
  const std::vector<LayerShape> shapes = LayerShapes(spec);
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) widest_ = std::max(widest_, shapes[i].out);
  ones_.assign(Size(widest_), 1);
  zeros_.assign(Size(widest_), 0);
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
    const LayerShape& shape = shapes[i];
    const Norm norm = shape.norm == Norm::kBatch ? Norm::kNone : shape.norm;  // it is folded
    const at::Tensor weight = take();
    const auto* bias = take().template const_data_ptr<float>();
    const auto* scale =
        norm == Norm::kNone ? ones_.data() : take().template const_data_ptr<float>();
    const auto* shift =
        norm == Norm::kLayer ? take().template const_data_ptr<float>() : zeros_.data();
    layers_.push_back({.shape = {.width = shape.out,
                                 .norm = norm,
                                 .activation = spec.layers.activation,
                                 .linear = shape.linear,
                                 .bias = bias,
                                 .scale = scale,
                                 .shift = shift},
                       .in = shape.in,
                       .adds_skip = shape.adds_skip,
                       .weight = weight});
  }
  if (HiddenLayer& first = layers_.front().shape; kAddsIntegers && first.norm == Norm::kLayer) {
    first_bias_ = first.bias;
    centred_bias_.resize(Size(first.width));
    first.bias = centred_bias_.data();
    first.norm = Norm::kRms;
  }
  together_ = PositionsTogether(input_, layers_.front().shape.width, sizeof(Entry));
  num_tables_ = CeilDivide(input_.positions, together_);
  values_ = 1;
  for (std::int64_t i = 0; i < together_; ++i) values_ *= input_.depth;
  output_weight_ = take();
  output_bias_ = take();
}

// Packs the weights if they were written, through Load or State, since they were last packed.
template <class T, class Weight>
void FusedCopy<T, Weight>::Pack() {
  std::int64_t version = 0;
  for (const auto& [name, tensor] : state_) version += static_cast<std::int64_t>(tensor._version());
  if (version == packed_version_) return;
  for (std::size_t i = 0; i < layers_.size(); ++i) PackLayer(i);
  packed_version_ = version;
}

template <class T, class Weight>
void FusedCopy<T, Weight>::PackLayer(std::size_t number) {
  Layer& layer = layers_[number];
  const std::int64_t width = layer.shape.width;
  const auto* weight = layer.weight.template const_data_ptr<float>();
  if (number == 0) {
    PackTables(weight);
  } else if constexpr (kIsInt8) {
    layer.int8 = Quantize(weight, layer.in, width);
  } else {
    layer.operand.resize(Size(layer.in * width));
    rounded_.resize(Size(kPanelColumns * layer.in));
    for (std::int64_t first = 0; first < width; first += kPanelColumns) {
      PackWeights(weight, first, layer.in, width, rounded_.data(), layer.operand.data());
    }
  }
}

// Row v of table t is the sum of the weights of the values that v stands for at the positions of
// the table. The first of them is the last digit of v.
template <class T, class Weight>
void FusedCopy<T, Weight>::PackTables(const float* weight) {
  const std::int64_t width = layers_.front().shape.width;
  AlignedVector<float> entries(Size(num_tables_ * values_ * width));
  for (std::int64_t row = 0; row < num_tables_ * values_; ++row) {
    float* sum = entries.data() + row * width;
    const std::int64_t first = row / values_ * together_;
    const std::int64_t end = std::min<std::int64_t>(first + together_, input_.positions);
    std::int64_t rest = row % values_;
    for (std::int64_t position = first; position < end; ++position) {
      const float* from = weight + (position * input_.depth + rest % input_.depth) * width;
      for (std::int64_t c = 0; c < width; ++c) sum[c] += from[c];
      rest /= input_.depth;
    }
  }
  if constexpr (kAddsIntegers) {
    if (first_bias_ != nullptr) Centre(entries);
    RoundTables(entries);
  } else {
    tables_ = std::move(entries);
  }
}

// Subtracts from each entry and from the bias its mean over the units. The product then has mean 0,
// and the normalisation need not compute it.
template <class T, class Weight>
void FusedCopy<T, Weight>::Centre(AlignedVector<float>& entries) {
  const std::size_t width = centred_bias_.size();
  const auto centre = [&](std::span<float> row) {
    const double mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(width);
    for (float& x : row) x -= static_cast<float>(mean);
  };
  for (std::size_t i = 0; i < entries.size(); i += width) {
    centre(std::span(entries).subspan(i, width));
  }
  std::copy_n(first_bias_, width, centred_bias_.begin());
  centre(centred_bias_);
}

// The greatest sum of the entries before they are rounded, which adds up to a half to each.
template <class T, class Weight>
float FusedCopy<T, Weight>::GreatestSum() const {
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int16_t>::max();
  if (num_tables_ < kGreatest) return static_cast<float>(kGreatest - num_tables_);
  throw InputError(fmt::format(
      "`inference.precision`: the first layer adds up the weights of {} positions in 16 "
      "bits; expected fewer than {}. Set inference.precision to fp32",
      num_tables_, kGreatest));
}

// Rounds the entries to whole numbers times a scale for each unit, such that no sum of one entry of
// each table overflows.
template <class T, class Weight>
void FusedCopy<T, Weight>::RoundTables(const AlignedVector<float>& entries) {
  const std::int64_t width = layers_.front().shape.width;
  AlignedVector<float> greatest(Size(num_tables_ * width));  // absolute values of a table's entries
  AlignedVector<float> total(Size(width));  // NaN for a unit with a weight that is no number
  for (std::int64_t row = 0; row < num_tables_ * values_; ++row) {
    const float* from = entries.data() + row * width;
    float* to = greatest.data() + row / values_ * width;
    for (std::int64_t c = 0; c < width; ++c) {
      to[c] = std::max(to[c], std::abs(from[c]));
      total[Size(c)] += from[c] * 0;
    }
  }
  for (std::int64_t table = 0; table < num_tables_; ++table) {
    for (std::int64_t c = 0; c < width; ++c) total[Size(c)] += greatest[Size(table * width + c)];
  }
  const float most = GreatestSum();
  AlignedVector<float> inverse(Size(width));
  table_scale_.resize(Size(width));
  for (std::size_t c = 0; c < inverse.size(); ++c) {
    table_scale_[c] = total[c] / most;
    inverse[c] = std::isfinite(total[c]) && total[c] > 0 ? most / total[c] : 0;
  }
  tables_.resize(entries.size());
  for (std::int64_t row = 0; row < num_tables_ * values_; ++row) {
    RunPass(RoundToIntegers{.count = width,
                            .from = entries.data() + row * width,
                            .factor = inverse.data(),
                            .to = tables_.data() + row * width});
  }
}

template <class T, class Weight>
void FusedCopy<T, Weight>::AddTiles(std::size_t threads) {
  while (tiles_.size() < threads) {
    Tile& tile = tiles_.emplace_back();
    const std::size_t size = Size(kTileRows * widest_);
    for (AlignedVector<T>& x : tile.x) x.resize(size);
    tile.values.resize(Size(kTileRows * num_tables_));
    tile.entry_sums.resize(Size(kTileRows * layers_.front().shape.width));
    tile.z.resize(size);
    tile.inverse_deviation.resize(Size(kTileRows));
    if constexpr (kIsInt8) {
      tile.q.resize(Size(kTileRows * (widest_ + kRowsOfWords<Weight>)));
      tile.scale.resize(Size(kTileRows));
      tile.least.resize(Size(kTileRows));
      tile.sums.resize(size);
    }
  }
}

// Sums the weights of the first layer's active features: sets tile.entry_sums.
template <class T, class Weight>
void FusedCopy<T, Weight>::LookUp(std::int64_t rows, const std::uint8_t* bytes, Tile& tile) const {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint8_t* from = bytes + r * input_.positions;
    for (std::int64_t t = 0; t < num_tables_; ++t) {
      std::int64_t value = 0;
      std::int64_t position = std::min<std::int64_t>((t + 1) * together_, input_.positions);
      while (position-- > t * together_) value = value * input_.depth + from[position];
      tile.values[Size(r * num_tables_ + t)] = static_cast<std::uint8_t>(value);
    }
  }
  RunPass(GatherRows<Entry>{.rows = rows,
                            .positions = num_tables_,
                            .depth = values_,
                            .width = layers_.front().shape.width,
                            .bytes = tile.values.data(),
                            .matrix = tables_.data(),
                            .sums = tile.entry_sums.data()});
}

// Sets tile.x[0] to the activations of the first layer.
template <class T, class Weight>
void FusedCopy<T, Weight>::RunFirstLayer(std::int64_t rows, const std::uint8_t* bytes,
                                         Tile& tile) const {
  LookUp(rows, bytes, tile);
  const Layer& layer = layers_.front();
  if constexpr (kAddsIntegers) {
    RunPass(ActivateSums{.layer = layer.shape,
                         .rows = rows,
                         .sums = tile.entry_sums.data(),
                         .unit_scale = table_scale_.data(),
                         .out = tile.x[0].data()});
  } else {
    Activate(layer, rows, tile.entry_sums.data(), /*skip=*/nullptr, tile, tile.x[0].data());
  }
}

template <class T, class Weight>
// NOLINTNEXTLINE(readability-non-const-parameter): ActivateRows writes to `z` and `out`
void FusedCopy<T, Weight>::Activate(const Layer& layer, std::int64_t rows, float* z, const T* skip,
                                    Tile& tile, T* out) const {
  RunPass(ActivateRows<T>{.layer = layer.shape,
                          .rows = rows,
                          .z = z,
                          .skip = skip,
                          .inverse_deviation = tile.inverse_deviation.data(),
                          .out = out});
}

template <class T, class Weight>
// NOLINTNEXTLINE(readability-non-const-parameter): OutputRows writes to `outputs`
void FusedCopy<T, Weight>::RunTile(std::int64_t rows, const std::uint8_t* bytes, float* outputs,
                                   Tile& tile) const {
  RunFirstLayer(rows, bytes, tile);
  for (std::size_t i = 1; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    Multiply(layer, rows, tile.x[(i - 1) % 3].data(), tile);
    Activate(layer, rows, tile.z.data(), layer.adds_skip ? tile.x[(i - 2) % 3].data() : nullptr,
             tile, tile.x[i % 3].data());
  }
  RunPass(OutputRows<T>{.rows = rows,
                        .width = layers_.back().shape.width,
                        .outputs = outputs_,
                        .x = tile.x[(layers_.size() - 1) % 3].data(),
                        .weight = output_weight_.template const_data_ptr<float>(),
                        .bias = output_bias_.template const_data_ptr<float>(),
                        .y = outputs});
}

// Sets tile.z to the product of `x` with the layer's weights.
template <class T, class Weight>
void FusedCopy<T, Weight>::Multiply(const Layer& layer, std::int64_t rows, const T* x,
                                    Tile& tile) const {
  const std::int64_t width = layer.shape.width;
  if constexpr (kIsInt8) {
    const std::int64_t stride = CeilDivide(layer.in, kRowsOfWords<Weight>) * kRowsOfWords<Weight>;
    RunPass(QuantizeRows<T>{.rows = rows,
                            .width = layer.in,
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
    Product(rows, width, layer.in, x, layer.in, layer.operand.data(), layer.in, tile.z.data(),
            /*add=*/false);
  }
}

}  // namespace

bool UsesFusedCopy(const NetworkSpec& spec, const InferenceConfig& config, c10::Device device) {
  if (config.forward == InferenceForward::kOperators) return false;
  const std::string why = WhyNotFused(spec.layers, config.precision, device);
  if (why.empty()) return true;
  const bool may_decline = config.forward == InferenceForward::kAuto;
  if (may_decline && config.precision != Precision::kInt8) return false;
  throw InputError(fmt::format(
      "`inference.forward: {}` with `inference.precision: {}`: {}. Set inference.forward to "
      "operators and inference.precision to auto",
      NameOf(kInferenceForwards, config.forward), NameOf(kInferencePrecisions, config.precision),
      why));
}

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
