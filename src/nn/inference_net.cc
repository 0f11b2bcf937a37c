#include "nn/inference_net.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/fault_point.h"
#include "data/examples.h"
#include "nn/backend.h"
#include "nn/threads.h"
#include "nn/training_loss.h"
#include "tandem/error.h"

namespace tandem {
namespace {

c10::Stream CurrentStream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

// The encodings of all actions, one in each row; undefined if the network takes no action.
at::Tensor EncodedActions(const NetworkSpec& spec, c10::Device device) {
  if (spec.actions == 0) return {};
  const std::int64_t width = spec.action_positions();
  at::Tensor actions = at::empty({spec.actions, width}, at::TensorOptions().dtype(at::kByte));
  const Rows rows(actions.mutable_data_ptr<std::uint8_t>(), static_cast<std::size_t>(spec.actions),
                  static_cast<std::size_t>(width));
  for (std::size_t a = 0; a < rows.size(); ++a) EncodeAction(static_cast<Action>(a), rows[a]);
  return actions.to(device);
}

// How many states are evaluated at once.
std::int64_t StatesPerBatch(const NetworkSpec& spec, const InferenceConfig& config) {
  return std::max<std::int64_t>(1, config.rows_at_once() / std::max<std::int64_t>(1, spec.actions));
}

}  // namespace

InferenceNet::InferenceNet(const NetworkSpec& spec, const InferenceConfig& config, Device& device)
    : head_(spec.layers.head),
      batch_size_(StatesPerBatch(spec, config)),
      threads_(static_cast<int>(*config.threads)),
      device_(device.torch()),
      actions_(EncodedActions(spec, device_)),
      copy_(MakeInferenceCopy(spec, config, device)),
      main_stream_(device.MainStream()),
      own_stream_(device.MakeStream()) {
  if (!device_.is_cpu()) loaded_.emplace(device_.type());
  CheckProducts(device, threads_);
  const TensorSpec inputs{.type = at::kByte, .sizes = {batch_size_, spec.state_positions()}};
  slots_ = device.MakeSlots(kNumSlots, {inputs}, {.pin_memory = true, .copy_stream = true});
  const std::int64_t values = batch_size_ * std::max(spec.outputs, spec.actions);
  for (const auto& slot : slots_) {
    results_.push_back(device.MakeResultSlot(static_cast<std::size_t>(values) * sizeof(float)));
    std::ranges::fill(slot->host(0), std::byte{0});  // padding must be valid input
  }
}

void InferenceNet::Load(const Network& net) {
  const std::unique_ptr<StreamScope> scope = main_stream_->Enter();
  const c10::NoGradGuard no_grad;
  copy_->Load(net);
  if (loaded_) loaded_->record(CurrentStream(device_));
}

at::Tensor InferenceNet::Forward(const at::Tensor& bytes) {
  const c10::InferenceMode inference;
  if (loaded_) loaded_->block(CurrentStream(device_));
  if (!actions_.defined()) return copy_->Forward(bytes);
  return copy_->Forward(PairWithActions(bytes)).view({bytes.size(0), actions_.size(0)});
}

// Maps n states to n * actions rows: the first state with each action, then the second, and so on.
at::Tensor InferenceNet::PairWithActions(const at::Tensor& bytes) const {
  const std::int64_t states = bytes.size(0);
  const std::int64_t actions = actions_.size(0);
  return at::cat({bytes.unsqueeze(1).expand({states, actions, bytes.size(1)}),
                  actions_.unsqueeze(0).expand({states, actions, actions_.size(1)})},
                 2)
      .view({states * actions, bytes.size(1) + actions_.size(1)});
}

at::Tensor InferenceNet::ToEstimates(const at::Tensor& outputs) const {
  const std::int64_t costs = TraitsOf(head_).num_costs(outputs.size(1));
  if (costs == 0) throw Error("a policy estimates no cost-to-go; this is a bug in Tandem");
  return outputs.narrow(1, 0, costs).amin(1);
}

at::Tensor InferenceNet::ToActionValues(const at::Tensor& outputs) const {
  if (IsQ(head_)) return outputs;
  const std::int64_t costs = TraitsOf(head_).num_costs(outputs.size(1));
  const std::int64_t logits = outputs.size(1) - costs;
  if (logits == 0) throw Error("a V net gives no values of actions; this is a bug in Tandem");
  return -at::log_softmax(outputs.narrow(1, costs, logits), 1);
}

ActionValues InferenceNet::action_values() const {
  if (!RanksActions(head_)) return ActionValues::kNone;
  return IsQ(head_) ? ActionValues::kQValues : ActionValues::kSurprisals;
}

void InferenceNet::Evaluate(ConstRows inputs, std::span<float> values) {
  EvaluateAll(inputs, values, &InferenceNet::ToEstimates);
}

void InferenceNet::EvaluateActions(ConstRows inputs, std::span<float> values) {
  EvaluateAll(inputs, values, &InferenceNet::ToActionValues);
}

at::Tensor InferenceNet::ToBoth(const at::Tensor& outputs) const {
  return at::cat({ToEstimates(outputs).unsqueeze(1), ToActionValues(outputs)}, 1);
}

void InferenceNet::EvaluateWithActions(ConstRows inputs, std::span<float> values) {
  if (head_ != Head::kVp) return Evaluator::EvaluateWithActions(inputs, values);
  EvaluateAll(inputs, values, &InferenceNet::ToBoth);
}

at::Tensor InferenceNet::EstimateBatches(const at::Tensor& bytes) {
  FaultPoint(Fault::kEvaluator);
  const c10::InferenceMode inference;
  const ScopedThreads threads(threads_);
  std::vector<at::Tensor> estimates;
  for (std::int64_t first = 0; first < bytes.size(0); first += batch_size_) {
    const std::int64_t count = std::min(batch_size_, bytes.size(0) - first);
    at::Tensor batch = bytes.narrow(0, first, count);
    const std::int64_t padding = PaddedRows(static_cast<std::size_t>(count)) - count;
    if (padding > 0) batch = at::cat({batch, at::zeros({padding, bytes.size(1)}, bytes.options())});
    estimates.push_back(ToEstimates(Forward(batch)).narrow(0, 0, count));
  }
  return at::cat(estimates);
}

void InferenceNet::EvaluateAll(ConstRows inputs, std::span<float> values, Reduce reduce) {
  FaultPoint(Fault::kEvaluator);
  if (inputs.empty()) return;
  CheckSizes(inputs, values);
  const std::size_t width = values.size() / inputs.size();
  const ScopedThreads threads(threads_);
  const std::unique_ptr<StreamScope> scope = own_stream_->Enter();
  const auto batch_size = static_cast<std::size_t>(batch_size_);
  const auto batch_at = [&](std::size_t first) {
    return inputs.Slice(first, std::min(batch_size, inputs.size() - first));
  };
  const auto values_at = [&](std::size_t first) {
    return values.subspan(first * width, batch_at(first).size() * width);
  };
  std::size_t slot = 0;
  StartCopy(batch_at(0), *slots_[slot]);
  for (std::size_t first = 0; first < inputs.size(); first += batch_size) {
    const std::size_t count = batch_at(first).size();
    results_[slot]->EnqueueCopy(
        ForwardSlot(*slots_[slot], count, reduce).narrow(0, 0, static_cast<std::int64_t>(count)));
    slot = 1 - slot;
    // On a GPU, both run in parallel with the forward pass that has just been enqueued.
    if (first + count < inputs.size()) StartCopy(batch_at(first + count), *slots_[slot]);
    if (first > 0) Write(results_[slot]->Await(), values_at(first - batch_size));
  }
  const std::size_t last = (inputs.size() - 1) / batch_size * batch_size;
  Write(results_[1 - slot]->Await(), values_at(last));
}

void InferenceNet::CheckSizes(ConstRows inputs, std::span<const float> values) const {
  const std::int64_t expected = slots_.front()->device(0).size(1);
  if (!std::cmp_equal(inputs.row_size(), expected)) {
    throw Error(
        fmt::format("evaluation: states have {} bytes, expected {}; this is a bug in Tandem",
                    inputs.row_size(), expected));
  }
  if (values.empty() || values.size() % inputs.size() != 0) {
    throw Error(
        fmt::format("evaluation: there is room for {} values of {} states; this is a bug in Tandem",
                    values.size(), inputs.size()));
  }
}

void InferenceNet::Write(std::span<const std::byte> result, std::span<float> values) {
  if (result.size() != values.size_bytes()) {
    throw Error(
        fmt::format("evaluation: the network made {} bytes, expected {}; this is a bug in Tandem",
                    result.size(), values.size_bytes()));
  }
  std::memcpy(values.data(), result.data(), values.size_bytes());
}

void InferenceNet::StartCopy(ConstRows batch, TransferSlot& slot) {
  slot.AwaitHost();
  std::ranges::copy(batch.bytes(), reinterpret_cast<std::uint8_t*>(slot.host(0).data()));
  slot.EnqueueCopy();
}

at::Tensor InferenceNet::ForwardSlot(TransferSlot& slot, std::size_t rows, Reduce reduce) {
  slot.AwaitCopy();
  const at::Tensor bytes = slot.device(0).narrow(0, 0, PaddedRows(rows));
  at::Tensor estimates = (this->*reduce)(Forward(bytes)).contiguous();
  slot.Release();
  return estimates;
}

std::int64_t InferenceNet::PaddedRows(std::size_t rows) const {
  if (copy_->rows_are_independent()) return static_cast<std::int64_t>(rows);
  return std::min(batch_size_, static_cast<std::int64_t>(std::bit_ceil(rows)));
}

}  // namespace tandem
