#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>

#include <utility>
#include <vector>

#include "nn/device.h"
#include "nn/gpu/gpu_backend.h"
#include "nn/gpu/pass_runner.h"
#include "nn/resnet_fc.h"

namespace tandem {

namespace {

// Rows of products in fp8 begin at addresses that are multiples of this many numbers.
constexpr std::int64_t kFp8Alignment = 16;

// The rows of random inputs that the scales of activations in fp8 are taken from, and how much
// larger than theirs other activations may be.
constexpr std::int64_t kCalibrationRows = 1024;
constexpr double kCalibrationMargin = 4;
constexpr double kLeastScale = 1e-12;  // with which zeros stay zeros

// How many numbers are missing to the next multiple of kFp8Alignment.
std::int64_t PaddingAfter(std::int64_t size) { return -size & (kFp8Alignment - 1); }

// The scale with which the largest magnitude becomes the largest number of e4m3. NaN stays NaN.
at::Tensor ScaleOf(const at::Tensor& numbers) {
  return numbers.abs().max().to(at::kFloat).div_(kLargestOfE4m3).clamp_min_(kLeastScale);
}

// The results of a layer, in one or both forms, and what later layers need besides.
struct Activations {
  at::Tensor numbers;           // in fp32 or bf16
  at::Tensor quantised;         // in e4m3
  at::Tensor block_input = {};  // in fp32 or bf16, of the current block
};

class TensorCopy final : public NetworkCopy {
 public:
  TensorCopy(const NetworkSpec& spec, const InferenceConfig& config, const Device& device)
      : config_(spec.layers),
        input_(spec.input),
        type_(WeightType(config)),
        passes_(*device.passes()),
        folded_(spec) {
    const bool fp8 = config.precision == Precision::kFp8;
    for (const LayerShape& shape : folded_.shapes()) AddLayer(shape, fp8, device.torch());
    if (!fp8) return;
    at::Generator generator = at::detail::createCPUGenerator(/*seed_val=*/1);
    calibration_ = at::randint(0, input_.depth, {kCalibrationRows, input_.positions}, generator,
                               at::TensorOptions().dtype(at::kByte))
                       .to(device.torch());
  }

  void Load(const Network& net) override {
    folded_.Load(net);
    QuantiseIfWritten();
  }

  at::Tensor Forward(const at::Tensor& bytes) override {
    CheckInputs(bytes, input_.depth, "evaluation");
    QuantiseIfWritten();
    const bool in_fp8 = calibration_.defined();
    Activations x{.numbers = OneHot(bytes), .quantised = {}};
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) RunHidden(i, in_fp8, x);
    return Output(x.numbers);
  }

  // The numbers in e4m3 are not part of the state, because files cannot hold them.
  StateDict State() const override { return folded_.State(); }

 private:
  struct Layer {
    LayerShape shape;             // without a normalisation that is folded into the weights
    std::int64_t padding_before;  // features that are always 0
    DenseTensors padded = {};     // the normalisation is in fp32
    // The weights as products in fp8 take them, and the scales of both operands; else undefined.
    at::Tensor quantised = {}, scale = {}, input_scale = {};

    bool is_fp8() const { return quantised.defined(); }
  };

  void AddLayer(const LayerShape& shape, bool fp8, c10::Device device) {
    const bool is_first = layers_.empty();
    const bool is_output = layers_.size() + 1 == folded_.shapes().size();
    const auto options = at::TensorOptions().dtype(is_output ? at::kFloat : type_).device(device);
    const auto floats = options.dtype(at::kFloat);
    // Validate refuses layer normalisation and RMSNorm with widths that must be padded, because
    // their statistics would count the zeros.
    const std::int64_t before = is_first ? PaddingBefore(shape.in) : 0;
    const std::int64_t after = fp8 && !is_first ? PaddingAfter(shape.in) : 0;
    const std::int64_t out = shape.out + (fp8 && !is_output ? PaddingAfter(shape.out) : 0);
    Layer& layer = layers_.emplace_back(Layer{.shape = shape, .padding_before = before});
    DenseTensors& padded = layer.padded;
    padded = {.weight = at::zeros({out, before + shape.in + after}, options),
              .bias = at::zeros({out}, options)};
    const NormParts parts = PartsOf(shape.norm);
    if (parts.scale) padded.norm_weight = at::empty({out}, floats);
    if (parts.shift) padded.norm_bias = at::empty({out}, floats);
    if (fp8 && !is_first && !is_output) {
      layer.quantised = at::empty_like(padded.weight, at::kFloat8_e4m3fn);
      layer.scale = at::ones({}, floats);
      layer.input_scale = at::ones({}, floats);
    }
    // Views, so that the state is the same as that of other copies.
    DenseTensors views = padded;
    for (const auto& [name, part] : DenseTensors::kParts) {
      if ((padded.*part).defined()) views.*part = (padded.*part).narrow(0, 0, shape.out);
    }
    views.weight = views.weight.narrow(1, before, shape.in);
    folded_.AddTensors(std::move(views));
  }

  // Weights are written through Load or State. Load calls this so that the work is on the stream of
  // Load, for which evaluations wait.
  void QuantiseIfWritten() {
    if (!calibration_.defined()) return;
    const std::int64_t version = folded_.Version();
    if (version == quantised_version_) return;
    for (const Layer& layer : layers_) {
      if (!layer.is_fp8()) continue;
      layer.scale.copy_(ScaleOf(layer.padded.weight));
      layer.quantised.copy_(
          (layer.padded.weight.to(at::kFloat) / layer.scale).to(at::kFloat8_e4m3fn));
    }
    Activations x{.numbers = OneHot(calibration_), .quantised = {}};
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      RunHidden(i, /*in_fp8=*/false, x);
      const Layer& next = layers_[i + 1];
      if (next.is_fp8()) next.input_scale.copy_(ScaleOf(x.numbers) * kCalibrationMargin);
    }
    quantised_version_ = version;
  }

  // Computes hidden layer i from the results of the layer before it. With products in fp8, makes
  // the numbers in e4m3 if the next product takes them, and others only if they are needed too.
  void RunHidden(std::size_t i, bool in_fp8, Activations& x) const {
    const Layer& layer = layers_[i];
    const Layer& next = layers_[i + 1];
    const bool quantises = in_fp8 && next.is_fp8();
    if (layer.shape.begins_block) x.block_input = x.numbers;
    if (IsReluOfProduct(layer.shape, config_.activation) && !in_fp8) {
      x.numbers = at::_addmm_activation(layer.padded.bias, x.numbers, layer.padded.weight.t());
      return;
    }
    const at::Tensor product = Product(layer, x);
    const bool needs_numbers = !quantises || next.shape.begins_block;
    x.numbers = needs_numbers ? product : at::Tensor();
    x.quantised = quantises ? at::empty_like(product, at::kFloat8_e4m3fn) : at::Tensor();
    if (IsProduct(layer.shape) && !quantises) return;
    WithType([&](auto zero) {
      RunPass<decltype(zero)>(layer, product, quantises ? next.input_scale : at::Tensor(), x);
    });
  }

  at::Tensor OneHot(const at::Tensor& bytes) const {
    const Layer& first = layers_.front();
    at::Tensor features =
        at::empty({bytes.size(0), first.padded.weight.size(1)}, first.padded.weight.options());
    const at::Tensor rows = bytes.contiguous();
    WithType([&](auto zero) {
      using T = decltype(zero);
      passes_.Run(OneHotPass<T>{.rows = rows.size(0),
                                .positions = input_.positions,
                                .depth = input_.depth,
                                .padding = first.padding_before,
                                .values = rows.const_data_ptr<std::uint8_t>(),
                                .features = static_cast<T*>(features.data_ptr())});
    });
    return features;
  }

  at::Tensor Product(const Layer& layer, const Activations& x) const {
    if (!x.quantised.defined()) {
      return at::addmm(layer.padded.bias, x.numbers, layer.padded.weight.t());
    }
    return at::_scaled_mm(x.quantised, layer.quantised.t(), layer.input_scale, layer.scale,
                          layer.padded.bias, /*scale_result=*/{}, type_, /*use_fast_accum=*/true);
  }

  // Makes the results of a layer from that of its product, which may be one of them.
  template <class T>
  void RunPass(const Layer& layer, const at::Tensor& product, const at::Tensor& scale,
               const Activations& x) const {
    const at::Tensor skip = layer.shape.adds_skip ? x.block_input : at::Tensor();
    const at::Tensor statistics =
        layer.shape.norm == Norm::kNone
            ? at::Tensor()
            : at::empty({2, product.size(0)}, product.options().dtype(at::kFloat));
    auto* mean = DataOrNull<float>(statistics);
    auto* inverse = mean != nullptr ? mean + product.size(0) : nullptr;
    passes_.Run(ForwardPass<T>{.layer = {.rows = product.size(0),
                                         .width = product.size(1),
                                         .norm = layer.shape.norm,
                                         .activation = config_.activation,
                                         .linear = layer.shape.linear,
                                         .z = DataOrNull<T>(product),
                                         .skip = DataOrNull<T>(skip),
                                         .scale = DataOrNull<float>(layer.padded.norm_weight),
                                         .shift = DataOrNull<float>(layer.padded.norm_bias),
                                         .mean = mean,
                                         .inverse = inverse,
                                         .epsilon = static_cast<float>(Dense::kEpsilon)},
                               .row_mean = mean,
                               .row_inverse = inverse,
                               .y = DataOrNull<T>(x.numbers),
                               .quantised = DataOrNull<E4m3>(x.quantised),
                               .quantised_scale = DataOrNull<float>(scale)});
  }

  at::Tensor Output(const at::Tensor& x) const {
    const DenseTensors& output = layers_.back().padded;
    at::Tensor y = at::empty({x.size(0), output.weight.size(0)}, output.weight.options());
    WithType([&](auto zero) {
      using T = decltype(zero);
      passes_.Run(OutputPass<T>{.rows = x.size(0),
                                .width = x.size(1),
                                .outputs = y.size(1),
                                .x = DataOrNull<T>(x),
                                .weight = DataOrNull<float>(output.weight),
                                .bias = DataOrNull<float>(output.bias),
                                .y = DataOrNull<float>(y)});
    });
    return y;
  }

  // Calls work(T()) with the type of the activations.
  template <class Work>
  void WithType(const Work& work) const {
    if (type_ == at::kFloat) return work(float());
    work(Bf16());
  }

  const NetworkConfig config_;
  const InputLayout input_;
  const at::ScalarType type_;  // of the activations of hidden layers
  const PassRunner& passes_;
  FoldedLayers folded_;  // views of the weights of layers_
  std::vector<Layer> layers_;
  at::Tensor calibration_;               // random states, if products are in fp8
  std::int64_t quantised_version_ = -1;  // of the weights that the numbers in e4m3 were made from
};

}  // namespace

std::unique_ptr<NetworkCopy> MakeTensorCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                            const Device& device) {
  return std::make_unique<TensorCopy>(spec, config, device);
}

}  // namespace tandem
