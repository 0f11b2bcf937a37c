#include "nn/flat_parameters.h"

#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cstddef>

namespace tandem {

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

// Views of a block, shaped like the parameters and in their order.
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
  std::size_t next = 0;
  std::vector<DenseTensors> layers;
  layers.reserve(net_.layers().size());
  for (const auto& dense : net_.layers()) {
    DenseTensors& layer = layers.emplace_back();
    layer.weight = views.at(next++);
    layer.bias = views.at(next++);
    if (dense->norm_weight.defined()) layer.norm_weight = views.at(next++);
    if (dense->norm_bias.defined()) layer.norm_bias = views.at(next++);
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

// A counter of the changes to parameters that LibTorch's operators made. Its fused kernels of
// optimizers do not count.
std::int64_t FlatParameters::Versions() const {
  std::int64_t sum = 0;
  for (const at::Tensor& parameter : parameters_) sum += parameter._version();
  return sum;
}

}  // namespace tandem
