#include "nn/resnet_fc.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "nn/resnet_fc_copy.h"
#include "nn/threads.h"

namespace tandem {

std::vector<LayerShape> LayerShapes(const NetworkSpec& spec) {
  const NetworkConfig& config = spec.layers;
  std::vector<LayerShape> shapes;
  std::int64_t width = spec.features();
  const auto add = [&](const std::string& name, std::int64_t out, Norm norm) -> LayerShape& {
    shapes.push_back({.name = name, .in = width, .out = out, .norm = norm});
    width = out;
    return shapes.back();
  };
  if (config.stem_width > 0) add("hidden0", config.stem_width, config.norm);
  if (config.input_layer == InputLayer::kLinear) {
    add("input", config.width, Norm::kNone).linear = true;
  } else {
    add("hidden" + std::to_string(shapes.size()), config.width, config.norm);
  }
  for (std::int64_t b = 0; b < config.blocks; ++b) {
    add(BlockLayerName(b, 0), config.width, config.norm);
    add(BlockLayerName(b, 1), config.width, config.norm).adds_skip = true;
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
  if (norm == Norm::kNone) return 0;
  return norm == Norm::kRms ? 1 : 2;
}

double Weights(const LayerShape& layer) { return static_cast<double>(layer.in * layer.out); }

}  // namespace

NetworkCost CostOfLayers(const NetworkSpec& spec, std::span<const LayerShape> layers) {
  const std::int64_t kept = spec.layers.norm == Norm::kRms ? 4 : 3;
  constexpr std::int64_t kAtOnce = 4;  // the block's input, and the three that are kept
  NetworkCost cost{.activations = spec.features()};
  double weights = 0;
  std::int64_t widest = 0;
  for (const LayerShape& layer : layers) {
    cost.parameters += layer.out * (layer.in + 1 + NormParameters(layer.norm));
    weights += Weights(layer);
    if (&layer == &layers.back()) continue;
    cost.activations += kept * layer.out;
    widest = std::max(widest, layer.out);
  }
  cost.activations_at_once = spec.features() + kAtOnce * widest;
  cost.first_layer_flop = 2 * Weights(layers.front());
  cost.evaluation_flop = 2 * weights;
  cost.training_flop = 3 * cost.evaluation_flop - cost.first_layer_flop;
  return cost;
}

Dense::Dense(const LayerShape& shape) : norm(shape.norm) {
  weight = RegisterParameter("weight", at::empty({shape.out, shape.in}));
  bias = RegisterParameter("bias", at::empty({shape.out}));
  if (norm == Norm::kNone) return;
  norm_weight = RegisterParameter("norm_weight", at::ones({shape.out}));
  if (norm == Norm::kRms) return;
  norm_bias = RegisterParameter("norm_bias", at::zeros({shape.out}));
  if (norm == Norm::kBatch) {
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

FoldedDense Fold(const Dense& dense) {
  if (dense.norm != Norm::kBatch) return {.weight = dense.weight, .bias = dense.bias};
  // norm(Wx + b) = s (Wx + b - mean) + norm_bias with s = norm_weight / sqrt(var + epsilon)
  const at::Tensor scale = dense.norm_weight / (dense.running_var + Dense::kEpsilon).sqrt();
  return {.weight = dense.weight * scale.unsqueeze(1),
          .bias = (dense.bias - dense.running_mean) * scale + dense.norm_bias};
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
      return at::leaky_relu(x, 0.01);
    case Activation::kSilu:
      return at::silu(x);
  }
  return x;
}

ResNetFC::ResNetFC(const NetworkSpec& spec, std::uint64_t seed) : Network(spec) {
  at::Generator generator = InitialWeights(seed);
  for (const LayerShape& shape : LayerShapes(spec)) {
    Dense& dense =
        *layers_.emplace_back(RegisterModule(shape.name, std::make_shared<Dense>(shape)));
    DrawWeights(dense.weight, dense.bias, shape.in, generator);
  }
}

at::Tensor ResNetFC::Forward(const at::Tensor& features) {
  return ForwardFrom(features, *layers_.front());
}

// Autocast knows nothing of sums of rows, so their type is changed here.
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
  const at::Tensor hidden = ResNetHidden(spec().layers, input, layer);
  const ScopedAutocast full_precision(input.device().type(), /*enabled=*/false);
  return layer(layers_.size() - 1, hidden.to(layers_.back()->weight.scalar_type()));
}

NetworkCost ResNetFC::CostOf(const NetworkSpec& spec) {
  return CostOfLayers(spec, LayerShapes(spec));
}

TANDEM_REGISTER_NETWORK(resnet_fc, {.make =
                                        [](const NetworkSpec& spec, std::uint64_t seed) {
                                          return std::make_unique<ResNetFC>(spec, seed);
                                        },
                                    .cost = &ResNetFC::CostOf,
                                    .refusal = nullptr,
                                    .make_copy = &MakeResNetFCCopy});

}  // namespace tandem
