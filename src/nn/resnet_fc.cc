#include "nn/resnet_fc.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/embedding_bag.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "nn/device.h"
#include "nn/reference_backend.h"
#include "tandem/error.h"

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
      AddBlock(b, {.in = width, .out = width, .norm = config.norm}, shapes);
    }
  }
  add("output", spec.outputs, Norm::kNone).linear = true;
  return shapes;
}

void AddBlock(std::int64_t block, const LayerShape& like, std::vector<LayerShape>& shapes) {
  for (const bool is_first : {true, false}) {
    LayerShape& shape = shapes.emplace_back(like);
    shape.name = "block" + std::to_string(block) + (is_first ? "_first" : "_second");
    (is_first ? shape.begins_block : shape.adds_skip) = true;
  }
}

Dense::Dense(const LayerShape& shape) : norm(shape.norm) {
  constexpr std::int64_t kSide = LayerShape::kSide;
  weight =
      RegisterParameter("weight", shape.cells > 0 ? at::empty({shape.out, shape.in, kSide, kSide})
                                                  : at::empty({shape.out, shape.in}));
  bias = RegisterParameter("bias", at::empty({shape.out}));
  const NormParts parts = PartsOf(norm);
  if (parts.scale) norm_weight = RegisterParameter("norm_weight", at::ones({shape.out}));
  if (parts.shift) norm_bias = RegisterParameter("norm_bias", at::zeros({shape.out}));
  if (parts.statistics) {
    running_mean = RegisterBuffer("running_mean", at::zeros({shape.out}));
    running_var = RegisterBuffer("running_var", at::ones({shape.out}));
  }
}

at::Tensor Dense::operator()(const at::Tensor& x) {
  if (weight.dim() == 2) return Normalise(at::linear(x, weight, bias));
  constexpr std::int64_t kStride = 1;
  constexpr std::int64_t kPadding = LayerShape::kSide / 2;
  return Normalise(
      at::conv2d(x, weight, bias, at::IntArrayRef(kStride), at::IntArrayRef(kPadding)));
}

at::Tensor Dense::Normalise(const at::Tensor& y) {
  if (norm != Norm::kBatch) return NormaliseRows(norm, y, norm_weight, norm_bias);
  return at::batch_norm(y, norm_weight, norm_bias, running_mean, running_var, is_training(),
                        kMomentum, kEpsilon, /*cudnn_enabled=*/true);
}

DenseTensors Fold(const Dense& dense) {
  if (dense.norm != Norm::kBatch) return static_cast<const DenseTensors&>(dense);
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

LayeredNetwork::LayeredNetwork(const NetworkSpec& spec, std::vector<LayerShape> shapes,
                               std::uint64_t seed)
    : Network(spec), shapes_(std::move(shapes)) {
  at::Generator generator = InitialWeights(seed);
  for (const LayerShape& shape : shapes_) {
    Dense& dense =
        *layers_.emplace_back(RegisterModule(shape.name, std::make_shared<Dense>(shape)));
    DrawWeights(dense.weight, dense.bias, shape.inputs(), generator);
  }
}

at::Tensor ResNetFC::Forward(const at::Tensor& features) {
  return Run(features, [this](std::size_t i, const at::Tensor& x) { return (*layers()[i])(x); });
}

// Autocast does not cast the result of embedding_bag, so it is cast here.
at::Tensor ResNetFC::ForwardGathered(const at::Tensor& bytes, const GatheredFeatures& gathered) {
  Dense& first = *layers().front();
  const c10::DeviceType device = bytes.device().type();
  const at::ScalarType type = at::autocast::is_autocast_enabled(device)
                                  ? at::autocast::get_autocast_dtype(device)
                                  : first.weight.scalar_type();
  return Run(bytes, [&](std::size_t i, const at::Tensor& x) {
    if (i > 0) return (*layers()[i])(x);
    const at::Tensor y = gathered(x, first.weight.t().contiguous()) + first.bias;
    return first.Normalise(y.to(type));
  });
}

namespace {

NetworkKind FullyConnected() {
  return {.make = [](const NetworkSpec& spec,
                     std::uint64_t seed) { return std::make_unique<ResNetFC>(spec, seed); },
          .refusal = nullptr,
          .make_copy =
              [](const NetworkSpec& spec, const InferenceConfig& config, const Device& device) {
                return MakeOperatorCopy(spec, config, device.torch(),
                                        GathersInInference(spec.input, device.torch()));
              }};
}

}  // namespace

TANDEM_REGISTER_NETWORK(resnet_fc, FullyConnected());
TANDEM_REGISTER_NETWORK(mlp, FullyConnected());

FlatParameters::FlatParameters(const ResNetFC& net, Copies copies, std::int64_t padding)
    : net_(net), padding_(padding), parameters_(net.parameters()) {
  const c10::NoGradGuard no_grad;
  const at::Tensor& first = parameters_.front();
  const std::int64_t zeros = padding * first.size(0);
  const std::int64_t count = net.NumParameters();
  const auto allocate = [&](std::int64_t numbers, at::ScalarType type) {
    const auto options = at::TensorOptions().dtype(type).device(first.device());
    return at::zeros({zeros + numbers}, options).narrow(0, zeros, numbers);
  };
  values_ = allocate(count, at::kFloat);
  gradients_ = allocate(count + kRoomBehindGradients, at::kFloat);
  if (copies == Copies::kBf16) copies_ = allocate(count, at::kBFloat16);
  const std::vector<at::Tensor> views = ViewsOf(values_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    views[i].copy_(parameters_[i]);
    parameters_[i].set_data(views[i]);
  }
  gradient_views_ = ViewsOf(gradients_);
}

std::vector<at::Tensor> FlatParameters::ViewsOf(const at::Tensor& block) const {
  std::vector<at::Tensor> views;
  views.reserve(parameters_.size());
  std::int64_t begin = 0;
  for (const at::Tensor& parameter : parameters_) {
    const at::Tensor part = block.narrow(0, begin, parameter.numel());
    const bool by_feature = views.empty();
    views.push_back(by_feature ? part.view({parameter.size(1), parameter.size(0)}).t()
                               : part.view(parameter.sizes()));
    begin += parameter.numel();
  }
  return views;
}

std::vector<DenseTensors> FlatParameters::ByLayer(const at::Tensor& block) const {
  const std::vector<at::Tensor> views = ViewsOf(block);
  auto next = views.begin();
  std::vector<DenseTensors> layers;
  for (const auto& dense : net_.layers()) {
    DenseTensors& layer = layers.emplace_back();
    for (const auto& [name, part] : DenseTensors::kParts) {
      if (((*dense).*part).defined()) layer.*part = *next++;
    }
  }
  return layers;
}

at::Tensor FlatParameters::FirstWeights(const at::Tensor& block) const {
  const at::Tensor& first = parameters_.front();
  const std::int64_t units = first.size(0);
  return block.as_strided({padding_ + first.size(1), units}, {units, 1},
                          block.storage_offset() - padding_ * units);
}

void FlatParameters::AttachGradients() const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].mutable_grad() = gradient_views_[i];
  }
}

void FlatParameters::SetCopies() {
  if (!copies_.defined()) return;
  copies_.copy_(values_);
  copied_versions_ = Versions();
}

void FlatParameters::SetCopiesIfOld() {
  if (copies_.defined() && Versions() != copied_versions_) SetCopies();
}

// A counter of the changes by LibTorch's operators, without its fused kernels of optimizers.
std::int64_t FlatParameters::Versions() const {
  std::int64_t sum = 0;
  for (const at::Tensor& parameter : parameters_) sum += parameter._version();
  return sum;
}

FoldedLayers::FoldedLayers(const NetworkSpec& spec) : shapes_(LayerShapes(spec)) {
  for (LayerShape& shape : shapes_) {
    if (shape.norm == Norm::kBatch) shape.norm = Norm::kNone;
  }
}

FoldedLayers::FoldedLayers(const NetworkSpec& spec, at::ScalarType type, bool gathers,
                           c10::Device device)
    : FoldedLayers(spec) {
  for (const LayerShape& shape : shapes_) {
    // The output layer is always in fp32 (Network::Forward says why).
    const bool is_output = &shape == &shapes_.back();
    const bool is_gathered = gathers && &shape == &shapes_.front();
    const auto options =
        at::TensorOptions().dtype(is_output || is_gathered ? at::kFloat : type).device(device);
    // The weights of one feature of a gathered layer, a column of the matrix, are contiguous.
    DenseTensors tensors{.weight = is_gathered ? at::empty({shape.in, shape.out}, options).t()
                                               : at::empty({shape.out, shape.in}, options),
                         .bias = at::empty({shape.out}, options)};
    const NormParts parts = PartsOf(shape.norm);
    if (parts.scale) tensors.norm_weight = at::empty({shape.out}, options);
    if (parts.shift) tensors.norm_bias = at::empty({shape.out}, options);
    AddTensors(std::move(tensors));
  }
}

void FoldedLayers::AddTensors(DenseTensors tensors) {
  const std::string& layer = shapes_.at(tensors_.size()).name;
  for (const auto& [name, part] : DenseTensors::kParts) {
    if ((tensors.*part).defined()) state_.emplace_back(layer + "." + name, tensors.*part);
  }
  tensors_.push_back(std::move(tensors));
}

void FoldedLayers::Load(const Network& net) const {
  const auto* resnet = dynamic_cast<const ResNetFC*>(&net);
  if (resnet == nullptr) {
    throw Error("inference copy: the network is of another kind; this is a bug in Tandem");
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const DenseTensors from = Fold(*resnet->layers()[i]);
    for (const auto& [name, part] : DenseTensors::kParts) {
      if ((from.*part).defined()) (tensors_[i].*part).copy_(from.*part);
    }
  }
}

std::int64_t FoldedLayers::Version() const {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : state_) sum += static_cast<std::int64_t>(tensor._version());
  return sum;
}

}  // namespace tandem
