#include "nn/resnet_fc.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/embedding_bag.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>

#include "nn/fused/fused_support.h"
#include "nn/resnet_fc_copy.h"
#include "nn/threads.h"

namespace tandem {

NormParts PartsOf(Norm norm) {
  switch (norm) {
    case Norm::kNone:
      return {};
    case Norm::kBatch:
      return {.scale = true, .shift = true, .statistics = true};
    case Norm::kLayer:
      return {.scale = true, .shift = true};
    case Norm::kRms:
      return {.scale = true};
  }
  return {};  // not reached: the compiler warns of a missing case
}

std::vector<LayerShape> LayerShapes(const NetworkSpec& spec) {
  const NetworkConfig& config = spec.layers;
  std::vector<LayerShape> shapes;
  std::int64_t width = spec.features();
  const auto add = [&](const std::string& name, std::int64_t out, Norm norm) -> LayerShape& {
    shapes.push_back({.name = name, .in = width, .out = out, .norm = norm});
    width = out;
    return shapes.back();
  };
  const auto add_hidden = [&](std::int64_t out) {
    add("hidden" + std::to_string(shapes.size()), out, config.norm);
  };
  if (config.stem_width > 0) add_hidden(config.stem_width);
  if (config.input_layer == InputLayer::kLinear) {
    add("input", config.width, Norm::kNone).linear = true;
  } else {
    add_hidden(config.width);
  }
  for (std::int64_t b = 0; b < config.blocks; ++b) {
    if (config.kind == kMlp) {
      add_hidden(config.width);
    } else {
      add(BlockLayerName(b, 0), config.width, config.norm).begins_block = true;
      add(BlockLayerName(b, 1), config.width, config.norm).adds_skip = true;
    }
  }
  add("output", spec.outputs, Norm::kNone).linear = true;
  return shapes;
}

std::string BlockLayerName(std::int64_t block, int half) {
  return "block" + std::to_string(block) + (half == 0 ? "_first" : "_second");
}

namespace {

// The number of parameters of the normalisation for each unit.
std::int64_t NormParameters(Norm norm) {
  const NormParts parts = PartsOf(norm);
  return (parts.scale ? 1 : 0) + (parts.shift ? 1 : 0);
}

double Weights(const LayerShape& layer) { return static_cast<double>(layer.in * layer.out); }

}  // namespace

Dense::Dense(const LayerShape& shape) : norm(shape.norm) {
  weight = RegisterParameter("weight", at::empty({shape.out, shape.in}));
  bias = RegisterParameter("bias", at::empty({shape.out}));
  const NormParts parts = PartsOf(norm);
  if (parts.scale) norm_weight = RegisterParameter("norm_weight", at::ones({shape.out}));
  if (parts.shift) norm_bias = RegisterParameter("norm_bias", at::zeros({shape.out}));
  if (parts.statistics) {
    running_mean = RegisterBuffer("running_mean", at::zeros({shape.out}));
    running_var = RegisterBuffer("running_var", at::ones({shape.out}));
  }
}

at::Tensor Dense::operator()(const at::Tensor& x) { return Normalise(at::linear(x, weight, bias)); }

at::Tensor Dense::Normalise(const at::Tensor& y) {
  if (norm != Norm::kBatch) return NormaliseRows(norm, y, norm_weight, norm_bias);
  return at::batch_norm(y, norm_weight, norm_bias, running_mean, running_var, is_training(),
                        kMomentum, kEpsilon, /*cudnn_enabled=*/true);
}

DenseTensors Fold(const Dense& dense) {
  DenseTensors tensors{.weight = dense.weight,
                       .bias = dense.bias,
                       .norm_weight = dense.norm_weight,
                       .norm_bias = dense.norm_bias};
  if (dense.norm != Norm::kBatch) return tensors;
  return FoldBatchNorm(tensors, dense.running_mean, dense.running_var);
}

DenseTensors FoldBatchNorm(const DenseTensors& tensors, const at::Tensor& running_mean,
                           const at::Tensor& running_var) {
  // norm(Wx + b) = s (Wx + b - mean) + norm_bias with s = norm_weight / sqrt(var + epsilon)
  const at::Tensor scale = tensors.norm_weight / (running_var + Dense::kEpsilon).sqrt();
  return {.weight = tensors.weight * scale.unsqueeze(1),
          .bias = (tensors.bias - running_mean) * scale + tensors.norm_bias};
}

at::Tensor NormaliseRows(Norm norm, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& bias) {
  switch (norm) {
    case Norm::kNone:
    case Norm::kBatch:
      return x;
    case Norm::kLayer:
      return at::layer_norm(x, weight.sizes(), weight, bias, Dense::kEpsilon);
    case Norm::kRms:  // Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019
      return at::rms_norm(x, weight.sizes(), weight.to(x.scalar_type()), Dense::kEpsilon);
  }
  return x;
}

at::Tensor Activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kRelu:
      return x.relu();
    case Activation::kLeakyRelu:
      return at::leaky_relu(x, kLeakySlope);
  }
  return x;
}

GatheredFeatures::GatheredFeatures(InputLayout layout, c10::Device device)
    : first_(at::arange(0, std::int64_t{layout.positions} * layout.depth, layout.depth,
                        at::TensorOptions().dtype(at::kInt))
                 .to(device)) {}

at::Tensor GatheredFeatures::operator()(const at::Tensor& bytes, const at::Tensor& matrix) const {
  // LibTorch has vectorised kernels for sums of rows on all cores (FBGEMM on a CPU).
  const at::Tensor features = bytes.to(at::kInt).add_(first_);
  const at::Tensor begins = at::arange(0, features.numel(), first_.numel(), features.options());
  constexpr std::int64_t kSum = 0;
  return std::get<0>(at::embedding_bag(matrix, features.view(-1), begins,
                                       /*scale_grad_by_freq=*/false, kSum));
}

namespace {

bool Gathers(FirstLayer first_layer, InputLayout layout, c10::Device device, int fewest_values) {
  switch (first_layer) {
    case FirstLayer::kProduct:
      return false;
    case FirstLayer::kGather:
      return true;
    case FirstLayer::kAuto:
      return device.is_cpu() && layout.depth >= fewest_values;
  }
  return false;
}

}  // namespace

bool GathersInTraining(const TrainingConfig& config, InputLayout layout, c10::Device device) {
  if (config.step == TrainStep::kFused) return !MultipliesFirstLayer(config, layout);
  if (config.step != TrainStep::kAutograd) return false;  // the tensor step always multiplies
  return Gathers(config.first_layer, layout, device, kManyValuesInTraining);
}

bool GathersInInference(const InferenceConfig& config, InputLayout layout, c10::Device device) {
  if (config.forward == InferenceForward::kFused) return true;     // FusedCopy has no product there
  if (config.forward == InferenceForward::kTensors) return false;  // TensorCopy always multiplies
  return Gathers(config.first_layer, layout, device, /*fewest_values=*/4);
}

ResNetFC::ResNetFC(const NetworkSpec& spec, std::uint64_t seed)
    : Network(spec), shapes_(LayerShapes(spec)) {
  at::Generator generator = InitialWeights(seed);
  for (const LayerShape& shape : shapes_) {
    Dense& dense =
        *layers_.emplace_back(RegisterModule(shape.name, std::make_shared<Dense>(shape)));
    DrawWeights(dense.weight, dense.bias, shape.in, generator);
  }
}

at::Tensor ResNetFC::Forward(const at::Tensor& features) {
  return ForwardFrom(features, *layers_.front());
}

// Autocast does not cast the result of embedding_bag, so it is cast here.
at::Tensor ResNetFC::ForwardGathered(const at::Tensor& bytes, const GatheredFeatures& gathered) {
  Dense& first = *layers_.front();
  const c10::DeviceType device = bytes.device().type();
  const at::ScalarType type = at::autocast::is_autocast_enabled(device)
                                  ? at::autocast::get_autocast_dtype(device)
                                  : first.weight.scalar_type();
  return ForwardFrom(bytes, [&](const at::Tensor& x) {
    const at::Tensor y = gathered(x, first.weight.t().contiguous()) + first.bias;
    return first.Normalise(y.to(type));
  });
}

template <class First>
at::Tensor ResNetFC::ForwardFrom(const at::Tensor& input, First&& first_layer) {
  const auto layer = [&](std::size_t i, const at::Tensor& x) {
    return i == 0 ? first_layer(x) : (*layers_[i])(x);
  };
  const at::Tensor hidden = RunHiddenLayers(shapes_, spec().layers.activation, input, layer);
  const ScopedAutocast full_precision(input.device().type(), /*enabled=*/false);
  return layer(layers_.size() - 1, hidden.to(layers_.back()->weight.scalar_type()));
}

NetworkCost ResNetFC::CostOf(const NetworkSpec& spec) {
  const std::vector<LayerShape> layers = LayerShapes(spec);
  NetworkCost cost;
  double weights = 0;
  for (const LayerShape& layer : layers) {
    cost.parameters += layer.out * (layer.in + 1 + NormParameters(layer.norm));
    weights += Weights(layer);
  }
  cost.evaluation_flop = 2 * weights;
  cost.training_flop = 3 * cost.evaluation_flop - 2 * Weights(layers.front());
  return cost;
}

namespace {

NetworkKind FullyConnected() {
  return {.make = [](const NetworkSpec& spec,
                     std::uint64_t seed) { return std::make_unique<ResNetFC>(spec, seed); },
          .cost = &ResNetFC::CostOf,
          .refusal = nullptr,
          .make_copy = &MakeResNetFCCopy};
}

}  // namespace

TANDEM_REGISTER_NETWORK(resnet_fc, FullyConnected());
TANDEM_REGISTER_NETWORK(mlp, FullyConnected());

}  // namespace tandem
