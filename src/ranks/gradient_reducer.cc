#include "ranks/gradient_reducer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include "base/timeline.h"

namespace tandem {
namespace {

// Behind the gradients: the loss, the weight of the rows, and the two votes.
constexpr std::int64_t kExtras = 4;

}  // namespace

void GradientReducer::Allocate(const std::vector<at::Tensor>& parameters) {
  std::int64_t total = 0;
  for (const at::Tensor& parameter : parameters) total += parameter.numel();
  flat_ = at::empty({total + kExtras}, parameters.at(0).options().requires_grad(false));
  std::int64_t begin = 0;
  for (const at::Tensor& parameter : parameters) {
    // With the strides of the parameter, which the optimizer expects (FusedStep).
    views_.push_back(flat_.as_strided(parameter.sizes(), parameter.strides(), begin));
    begin += parameter.numel();
  }
}

at::Tensor GradientReducer::Reduce(const at::Tensor& loss, const at::Tensor& weights,
                                   const std::vector<at::Tensor>& parameters) {
  const c10::NoGradGuard no_grad;
  if (!flat_.defined()) Allocate(parameters);
  const std::int64_t total = flat_.numel() - kExtras;
  const at::Tensor means = flat_.narrow(0, 0, total + 1);  // the gradients and the loss
  const at::Tensor extras = flat_.narrow(0, total, kExtras);
  {
    const Span span(Phase::kReduce);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      views_[i].copy_(parameters[i].grad());
      parameters[i].mutable_grad() = views_[i];
    }
    extras[0].copy_(loss);
    // One rank has nothing to weigh, and a product and a quotient would change the last bits.
    if (ranks_.size() == 1 || !weights.defined()) {
      extras[1].fill_(1);
    } else {
      extras[1].copy_(weights.sum());
      means.mul_(extras[1]);
    }
    extras[2].fill_(stop_.wants_stop() ? 1 : 0);
    extras[3].fill_(stop_.time_is_up() ? 1 : 0);
  }
  ranks_.Sum(flat_);
  const Span span(Phase::kReduce);
  // If all outputs of all ranks are masked, the loss and the gradients are 0 and not 0 / 0.
  if (ranks_.size() > 1) means.div_(extras[1].clamp_min(1e-30));
  const at::Tensor votes = extras.narrow(0, 2, 2).cpu();
  stop_.Decide(votes[0].item<float>() > 0, votes[1].item<float>() > 0);
  return extras[0].clone();
}

void GradientReducer::AverageBuffers(const Network& net) {
  const c10::NoGradGuard no_grad;
  for (const at::Tensor& buffer : net.buffers()) {
    if (!buffer.is_floating_point()) continue;
    at::Tensor mean = buffer.contiguous();
    ranks_.Sum(mean);
    mean.div_(ranks_.size());
    if (!mean.is_same(buffer)) buffer.copy_(mean);
  }
}

}  // namespace tandem
