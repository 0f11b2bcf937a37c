#include "nn/tensor_copy.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "nn/device.h"
#include "nn/pass_runner.h"
#include "nn/resnet_fc.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::int64_t kAlignment = 8;  // of the first product's rows, in numbers

// Numbers in e4m3, which `scale` (a scalar in fp32) multiplies.
struct Quantised {
  at::Tensor of, scale;
};

// The same numbers as Fp8Pass makes, up to rounding.
Quantised Quantise(const at::Tensor& weights) {
  at::Tensor scale = weights.abs().max().div_(kLargestOfE4m3).clamp_min_(kLeastE4m3Scale);
  return {.of = (weights / scale).to(at::kFloat8_e4m3fn), .scale = std::move(scale)};
}

class TensorCopy final : public NetworkCopy {
 public:
  TensorCopy(const NetworkSpec& spec, const InferenceConfig& config, const Device& device)
      : config_(spec.layers),
        type_(WeightType(config)),
        fp8_(config.precision == Precision::kFp8),
        passes_(*device.passes()),
        padding_(-spec.features() & (kAlignment - 1)),
        offsets_(at::arange(padding_, padding_ + spec.features(), spec.input.depth, at::kLong)
                     .to(device.torch())) {
    const std::vector<LayerShape> shapes = LayerShapes(spec);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const bool is_output = i + 1 == shapes.size();
      Layer& layer = layers_.emplace_back(shapes[i], is_output ? at::kFloat : type_, device.torch(),
                                          i == 0 ? padding_ : 0);
      layer.linear = shapes[i].linear;
      layer.adds_skip = shapes[i].adds_skip;
      layer.fp8 = fp8_ && i > 0 && !is_output;
      if (!layer.fp8) continue;
      layer.quantised = at::empty_like(layer.weight, at::kFloat8_e4m3fn);
      layer.scale = at::ones({}, layer.bias.options().dtype(at::kFloat));
    }
  }

  void Load(const Network& net) override {
    const auto* resnet = dynamic_cast<const ResNetFC*>(&net);
    if (resnet == nullptr) {
      throw Error("TensorCopy: the network is of another kind; this is a bug in Tandem");
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) layers_[i].Load(*resnet->layers()[i]);
    QuantiseIfWritten();
  }

  at::Tensor Forward(const at::Tensor& bytes) override {
    QuantiseIfWritten();
    at::Tensor x = at::zeros({bytes.size(0), layers_.front().in()},
                             at::TensorOptions().dtype(type_).device(bytes.device()));
    x.scatter_(1, at::add(bytes, offsets_), 1);
    // The largest magnitudes of the layers' results, which the next layers need in fp8.
    const at::Tensor largest =
        fp8_ ? at::zeros({static_cast<std::int64_t>(layers_.size())}, x.options().dtype(at::kFloat))
             : at::Tensor();
    at::Tensor skip;  // the input of the current block
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      const auto largest_of = [&](std::size_t layer) {
        return layers_[layer + 1].fp8 ? largest.mutable_data_ptr<float>() + layer : nullptr;
      };
      const Layer& layer = layers_[i];
      const bool begins_block = layers_[i + 1].adds_skip;
      if (begins_block) skip = x;
      const at::Tensor& of_block = layer.adds_skip ? skip : at::Tensor();
      if (layer.fp8) {
        x = ProductInFp8(layer, x, largest_of(i - 1));
      } else if (layer.is_relu_of_product(config_.activation) && largest_of(i) == nullptr) {
        x = at::_addmm_activation(layer.bias, x, layer.weight.t());
        continue;
      } else {
        x = at::addmm(layer.bias, x, layer.weight.t());
      }
      Finish(layer, of_block, x, largest_of(i));
    }
    const Layer& output = layers_.back();
    return at::addmm(output.bias, x.to(at::kFloat), output.weight.t());
  }

  // The numbers in e4m3 are not part of the state, because files cannot hold them.
  StateDict State() const override {
    StateDict state;
    const auto add = [&](const std::string& name, const at::Tensor& tensor) {
      if (tensor.defined()) state.emplace_back(name, tensor);
    };
    for (const Layer& layer : layers_) {
      add(layer.name + ".weight", layer.weight);
      add(layer.name + ".bias", layer.bias);
      add(layer.name + ".norm_weight", layer.norm_weight);
      add(layer.name + ".norm_bias", layer.norm_bias);
    }
    return state;
  }

 private:
  struct Layer {
    // The weights of `padding` inputs that are always 0 come first.
    Layer(const LayerShape& shape, at::ScalarType type, c10::Device device, std::int64_t padding)
        : name(shape.name),
          norm(shape.norm == Norm::kBatch ? Norm::kNone : shape.norm),
          padding(padding) {
      const auto options = at::TensorOptions().dtype(type).device(device);
      weight = at::zeros({shape.out, padding + shape.in}, options);
      bias = at::empty({shape.out}, options);
      if (norm == Norm::kNone) return;
      norm_weight = at::empty({shape.out}, options.dtype(at::kFloat));
      if (norm == Norm::kLayer) norm_bias = at::empty_like(norm_weight);
    }

    void Load(const Dense& dense) {
      const FoldedDense folded = Fold(dense);
      weight.narrow(1, padding, folded.weight.size(1)).copy_(folded.weight);
      bias.copy_(folded.bias);
      if (norm_weight.defined()) norm_weight.copy_(dense.norm_weight);
      if (norm_bias.defined()) norm_bias.copy_(dense.norm_bias);
    }

    // If the layer is in fp8, sets `quantised` and `scale` unless they are those of the weights.
    void QuantiseIfWritten() {
      if (!fp8 || quantised_version == weight._version()) return;
      const Quantised numbers = Quantise(weight.to(at::kFloat));
      quantised.copy_(numbers.of);
      scale.copy_(numbers.scale);
      quantised_version = weight._version();
    }

    std::int64_t in() const { return weight.size(1); }
    bool is_product() const { return norm == Norm::kNone && linear; }
    bool is_relu_of_product(Activation activation) const {
      return norm == Norm::kNone && !linear && !adds_skip && activation == Activation::kRelu;
    }

    std::string name;
    Norm norm;  // that is not folded
    std::int64_t padding;
    bool linear = false, adds_skip = false, fp8 = false;
    at::Tensor weight, bias;              // (out, in); in bf16 if `fp8`
    at::Tensor quantised, scale;          // if `fp8`; products take these in place of `weight`
    at::Tensor norm_weight, norm_bias;    // in fp32; undefined without
    std::int64_t quantised_version = -1;  // of `weight`, from which `quantised` was made
  };

  // Weights are written through Load or State. Load calls this so that the work is on the stream of
  // Load, for which evaluations wait.
  void QuantiseIfWritten() {
    for (Layer& layer : layers_) layer.QuantiseIfWritten();
  }

  // `largest` is the largest magnitude of x.
  at::Tensor ProductInFp8(const Layer& layer, const at::Tensor& x, const float* largest) const {
    const Quantised inputs{.of = at::empty_like(x, at::kFloat8_e4m3fn),
                           .scale = at::empty({}, layer.scale.options())};
    passes_.Run(Fp8Pass{.count = x.numel(),
                        .x = static_cast<const Bf16*>(x.const_data_ptr()),
                        .largest = largest,
                        .y = static_cast<E4m3*>(inputs.of.data_ptr()),
                        .scale = inputs.scale.mutable_data_ptr<float>()});
    return at::_scaled_mm(inputs.of, layer.quantised.t(), inputs.scale, layer.scale, layer.bias,
                          /*scale_result=*/{}, type_, /*use_fast_accum=*/true);
  }

  // Makes the result of a layer from that of its product, in place.
  void Finish(const Layer& layer, const at::Tensor& skip, const at::Tensor& y,
              float* largest) const {
    if (layer.is_product() && largest == nullptr) return;
    if (type_ == at::kFloat) {
      RunPass<float>(layer, skip, y, largest);
    } else {
      RunPass<Bf16>(layer, skip, y, largest);
    }
  }

  template <class T>
  void RunPass(const Layer& layer, const at::Tensor& skip, const at::Tensor& y,
               // NOLINTNEXTLINE(readability-non-const-parameter): the pass writes to it
               float* largest) const {
    const auto floats = [](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
    };
    auto* numbers = static_cast<T*>(y.data_ptr());
    const at::Tensor statistics = layer.norm == Norm::kNone
                                      ? at::Tensor()
                                      : at::empty({2, y.size(0)}, y.options().dtype(at::kFloat));
    float* mean = floats(statistics);
    float* inverse = mean != nullptr ? mean + y.size(0) : nullptr;
    passes_.Run(ForwardPass<T>{
        .of = {.rows = y.size(0),
               .width = y.size(1),
               .norm = layer.norm,
               .activation = config_.activation,
               .linear = layer.linear,
               .z = numbers,
               .skip = skip.defined() ? static_cast<const T*>(skip.const_data_ptr()) : nullptr,
               .scale = floats(layer.norm_weight),
               .shift = floats(layer.norm_bias),
               .mean = mean,
               .inverse = inverse,
               .epsilon = static_cast<float>(Dense::kEpsilon)},
        .row_mean = mean,
        .row_inverse = inverse,
        .y = numbers,
        .largest = largest});
  }

  const NetworkConfig config_;
  const at::ScalarType type_;  // of the activations of hidden layers
  const bool fp8_;
  const PassRunner& passes_;
  const std::int64_t padding_;
  const at::Tensor offsets_;  // (positions): the feature of value 0
  std::vector<Layer> layers_;
};

std::string WhyNoTensorCopy(const InferenceConfig& config, const Device& device) {
  if (device.passes() == nullptr) {
    return "on a GPU it needs compute capability 8.0 or more, and a build of Tandem with nvcc; "
           "otherwise set inference.forward to operators";
  }
  if (config.precision != Precision::kFp8 || device.has_fp8()) return "";
  return fmt::format(
      "products in fp8 need a GPU of compute capability 8.9 or more, and this run "
      "uses {}; set inference.precision to bf16",
      device.description());
}

}  // namespace

std::unique_ptr<NetworkCopy> MakeTensorCopy(const NetworkSpec& spec, const InferenceConfig& config,
                                            const Device& device) {
  const std::string why = WhyNoTensorCopy(config, device);
  if (why.empty()) return std::make_unique<TensorCopy>(spec, config, device);
  throw InputError(fmt::format("`inference.forward: tensors` with `inference.precision: {}`: {}",
                               NameOf(kInferencePrecisions, config.precision), why));
}

}  // namespace tandem
