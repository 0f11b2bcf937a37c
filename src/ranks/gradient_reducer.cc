#include "ranks/gradient_reducer.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/timeline.h"
#include "nn/resnet_fc.h"

namespace tandem {
namespace {

// The numbers behind the gradients.
enum Extra : std::int64_t {
  kLoss,
  kWeight,  // of the rank's rows
  kStopVote,
  kTimeVote,
  kExtras,
};

constexpr std::int64_t kVotes = kExtras - kStopVote;

static_assert(kExtras == FlatParameters::kRoomBehindGradients);

}  // namespace

GradientReducer::GradientReducer(Ranks& ranks, AgreedStop& stop, Device& device)
    : ranks_(ranks), stop_(stop), votes_(device.MakeResultSlot(kVotes * sizeof(float))) {}

void GradientReducer::ReduceInPlace(const at::Tensor& block) {
  flat_ = block;
  in_place_ = true;
}

void GradientReducer::Allocate(const std::vector<at::Tensor>& parameters) {
  std::int64_t total = 0;
  for (const at::Tensor& parameter : parameters) total += parameter.numel();
  flat_ = at::empty({total + kExtras}, parameters.at(0).options().requires_grad(false));
  std::int64_t begin = 0;
  for (const at::Tensor& parameter : parameters) {
    // With the strides of the parameter, which the optimizer expects (FlatParameters).
    views_.push_back(flat_.as_strided(parameter.sizes(), parameter.strides(), begin));
    begin += parameter.numel();
  }
}

void GradientReducer::CopyGradients(const std::vector<at::Tensor>& parameters) {
  const Span span(Activity::kReduce);
  if (!flat_.defined()) Allocate(parameters);
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  at::_foreach_copy_(views_, gradients);
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = views_[i];
}

at::Tensor GradientReducer::Reduce(const at::Tensor& loss, const at::Tensor& weights,
                                   const std::vector<at::Tensor>& parameters) {
  const c10::NoGradGuard no_grad;
  DecideStop();  // before the votes are overwritten
  if (!in_place_) CopyGradients(parameters);
  const std::int64_t total = flat_.numel() - kExtras;
  const at::Tensor means = flat_.narrow(0, 0, total + kLoss + 1);  // the gradients and the loss
  const at::Tensor extras = flat_.narrow(0, total, kExtras);
  // One rank has nothing to weigh, and a product and a quotient would change the last bits.
  const bool weighs = ranks_.size() > 1;
  {
    const Span span(Activity::kReduce);
    extras[kLoss].copy_(loss);
    if (weighs && weights.defined()) {
      extras[kWeight].copy_(weights.sum());
      means.mul_(extras[kWeight]);
    } else {
      extras[kWeight].fill_(1);
    }
    extras.narrow(0, kStopVote, kVotes).zero_();
    if (stop_.wants_stop()) extras[kStopVote].fill_(1);
    if (stop_.time_is_up()) extras[kTimeVote].fill_(1);
  }
  ranks_.Sum(flat_);
  const Span span(Activity::kReduce);
  // If all outputs of all ranks are masked, the loss and the gradients are 0 and not 0 / 0.
  if (weighs) means.div_(extras[kWeight].clamp_min(1e-30));
  votes_->EnqueueCopy(extras.narrow(0, kStopVote, kVotes));
  undecided_ = true;
  return extras[kLoss];
}

void GradientReducer::DecideStop() {
  if (!undecided_) return;
  undecided_ = false;
  const Span span(Activity::kWaitForDevice);
  const std::span<const std::byte> bytes = votes_->Await();
  ranks_.CheckAlive();
  std::array<float, kVotes> votes = {};
  std::memcpy(votes.data(), bytes.data(), sizeof(votes));
  stop_.Decide(/*requested=*/votes[0] > 0, /*time_is_up=*/votes[1] > 0);
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
