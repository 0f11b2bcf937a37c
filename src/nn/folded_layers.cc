#include "nn/folded_layers.h"

#include <ATen/ops/empty.h>

#include <string>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

// Appends the tensors that are defined.
void Append(const DenseTensors& tensors, const std::string& layer, StateDict& to) {
  const auto append = [&](const char* name, const at::Tensor& tensor) {
    if (tensor.defined()) to.emplace_back(layer + name, tensor);
  };
  append(".weight", tensors.weight);
  append(".bias", tensors.bias);
  append(".norm_weight", tensors.norm_weight);
  append(".norm_bias", tensors.norm_bias);
}

}  // namespace

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
  Append(tensors, shapes_.at(tensors_.size()).name, state_);
  tensors_.push_back(std::move(tensors));
}

void FoldedLayers::Load(const Network& net) const {
  const auto* resnet = dynamic_cast<const ResNetFC*>(&net);
  if (resnet == nullptr) {
    throw Error("inference copy: the network is of another kind; this is a bug in Tandem");
  }
  auto into = state_.begin();
  for (const auto& dense : resnet->layers()) {
    StateDict folded;
    Append(Fold(*dense), "", folded);
    for (const auto& [name, tensor] : folded) (into++)->second.copy_(tensor);
  }
}

std::int64_t FoldedLayers::Version() const {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : state_) sum += static_cast<std::int64_t>(tensor._version());
  return sum;
}

}  // namespace tandem
