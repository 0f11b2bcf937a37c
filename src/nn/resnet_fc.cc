#include "nn/resnet_fc.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "nn/threads.h"

namespace tandem {

OneHot::OneHot(InputLayout layout, at::ScalarType type, c10::Device device)
    : features_(std::int64_t{layout.positions} * layout.depth),
      rows_(at::eye(layout.depth, at::TensorOptions().dtype(at::kFloat)).to(device, type)) {}

at::Tensor OneHot::operator()(const at::Tensor& bytes) const {
  // On a CPU, gathering rows of a small table is five times as fast as comparing with 0..depth-1.
  return at::embedding(rows_, bytes.to(at::kInt)).view({bytes.size(0), features_});
}

NetworkSpec NetworkFor(const NetworkConfig& config, const DomainSpec& domain) {
  return {.input = domain.input,
          .layers = config,
          .outputs = config.head == Head::kQ ? domain.num_actions() : 1};
}

namespace {

// The number of outputs of each hidden layer, in order.
std::vector<std::int64_t> HiddenWidths(const NetworkConfig& layers) {
  std::vector<std::int64_t> widths;
  if (layers.stem_width > 0) widths.push_back(layers.stem_width);
  widths.insert(widths.end(), static_cast<std::size_t>(1 + 2 * layers.blocks), layers.width);
  return widths;
}

}  // namespace

std::vector<DenseShape> LayerShapes(const NetworkSpec& spec) {
  std::vector<DenseShape> shapes;
  std::int64_t width = spec.features();
  for (const std::int64_t out : HiddenWidths(spec.layers)) {
    shapes.push_back({.in = width, .out = out, .norm = spec.layers.norm});
    width = out;
  }
  shapes.push_back({.in = width, .out = spec.outputs, .norm = Norm::kNone});
  return shapes;
}

std::int64_t NumParameters(const NetworkSpec& spec) {
  std::int64_t count = 0;
  for (const DenseShape& layer : LayerShapes(spec)) {
    count += layer.out * (layer.in + (layer.norm == Norm::kNone ? 1 : 3));
  }
  return count;
}

std::int64_t NumActivations(const NetworkSpec& spec) {
  constexpr std::int64_t kOfEachUnit = 3;
  const std::vector<std::int64_t> widths = HiddenWidths(spec.layers);
  return spec.features() +
         kOfEachUnit * std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
}

std::int64_t NumActivationsAtOnce(const NetworkSpec& spec) {
  constexpr std::int64_t kOfEachUnit = 4;  // the block's input, and the three of NumActivations
  return spec.features() + kOfEachUnit * std::ranges::max(HiddenWidths(spec.layers));
}

Dense::Dense(std::int64_t in, std::int64_t out, Norm norm_kind) : norm(norm_kind) {
  weight = register_parameter("weight", at::empty({out, in}));
  bias = register_parameter("bias", at::empty({out}));
  if (norm == Norm::kNone) return;
  norm_weight = register_parameter("norm_weight", at::ones({out}));
  norm_bias = register_parameter("norm_bias", at::zeros({out}));
  if (norm == Norm::kBatch) {
    running_mean = register_buffer("running_mean", at::zeros({out}));
    running_var = register_buffer("running_var", at::ones({out}));
  }
}

at::Tensor Dense::operator()(const at::Tensor& x) {
  const at::Tensor y = at::linear(x, weight, bias);
  switch (norm) {
    case Norm::kNone:
      return y;
    case Norm::kBatch:
      return at::batch_norm(y, norm_weight, norm_bias, running_mean, running_var, is_training(),
                            kMomentum, kEpsilon, /*cudnn_enabled=*/true);
    case Norm::kLayer:
      return at::layer_norm(y, norm_weight.sizes(), norm_weight, norm_bias, kEpsilon);
  }
  return y;
}

ResNetFC::ResNetFC(const NetworkSpec& spec, std::uint64_t seed) : spec_(spec) {
  const NetworkConfig& layers = spec.layers;
  std::int64_t width = spec.features();
  const auto add_hidden = [&](std::int64_t out) {
    hidden.push_back(register_module("hidden" + std::to_string(hidden.size()),
                                     std::make_shared<Dense>(width, out, layers.norm)));
    width = out;
  };
  if (layers.stem_width > 0) add_hidden(layers.stem_width);
  add_hidden(layers.width);
  for (std::int64_t b = 0; b < layers.blocks; ++b) {
    const std::string name = "block" + std::to_string(b);
    blocks.push_back({.first = register_module(name + "_first",
                                               std::make_shared<Dense>(width, width, layers.norm)),
                      .second = register_module(
                          name + "_second", std::make_shared<Dense>(width, width, layers.norm))});
  }
  output = register_module("output", std::make_shared<Dense>(width, spec.outputs, Norm::kNone));

  Random random(seed, Purpose::kInitialWeights);
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(random.Next());
  const c10::NoGradGuard no_grad;
  for (const auto& child : children()) {
    auto& dense = static_cast<Dense&>(*child);
    const double bound = 1.0 / std::sqrt(static_cast<double>(dense.weight.size(1)));
    dense.weight.uniform_(-bound, bound, generator);
    dense.bias.uniform_(-bound, bound, generator);
  }
}

at::Tensor ResNetFC::Forward(const at::Tensor& features) {
  const at::Tensor hidden_units = ResNetHidden(*this, features);
  const ScopedAutocast full_precision(features.device().type(), /*enabled=*/false);
  return (*output)(hidden_units.to(output->weight.scalar_type()));
}

std::int64_t ResNetFC::NumParameters() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

StateDict StateDictOf(const torch::nn::Module& module) {
  StateDict state;
  for (const auto& item : module.named_parameters(/*recurse=*/false)) {
    state.emplace_back(item.key(), item.value());
  }
  for (const auto& item : module.named_buffers(/*recurse=*/false)) {
    state.emplace_back(item.key(), item.value());
  }
  for (const auto& child : module.named_children()) {
    for (auto& [name, tensor] : StateDictOf(*child.value())) {
      state.emplace_back(child.key() + "." + name, tensor);
    }
  }
  return state;
}

}  // namespace tandem
