#include "nn/torch_evaluator.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "nn/check_products.h"
#include "nn/threads.h"

namespace tandem {

TorchEvaluatorOptions EvaluatorOptionsFor(const InferenceConfig& config) {
  return {.batch_size = config.batch_size, .threads = static_cast<int>(*config.threads)};
}

at::ScalarType WeightTypeFor(const InferenceConfig& config) {
  return config.precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
}

TorchEvaluator::TorchEvaluator(const FrozenNet& net, Device& device, const NetworkSpec& spec,
                               TorchEvaluatorOptions options)
    : net_(net), options_(options), stream_(device.MakeStream()) {
  CheckProducts(device, options.threads);
  const TensorSpec inputs{.type = at::kByte, .sizes = {options.batch_size, spec.input.positions}};
  slots_ = device.MakeSlots(kNumSlots, {inputs}, {});
  for (const auto& slot : slots_) {
    std::ranges::fill(slot->host(0), std::byte{0});  // padding must be valid input
  }
}

void TorchEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  EvaluateAll(inputs, values, [](const at::Tensor& outputs) { return outputs.amin(1); });
}

void TorchEvaluator::EvaluateActions(ConstRows inputs, std::span<float> values) {
  EvaluateAll(inputs, values, [](const at::Tensor& outputs) { return outputs; });
}

void TorchEvaluator::EvaluateAll(ConstRows inputs, std::span<float> values, Reduce reduce) {
  if (inputs.empty()) return;
  num_rows_.fetch_add(static_cast<std::int64_t>(inputs.size()), std::memory_order_relaxed);
  const std::size_t width = values.size() / inputs.size();
  const ScopedThreads threads(options_.threads);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  const auto batch_size = static_cast<std::size_t>(options_.batch_size);
  const auto batch_at = [&](std::size_t first) {
    return inputs.Slice(first, std::min(batch_size, inputs.size() - first));
  };
  std::size_t slot = 0;
  StartCopy(batch_at(0), *slots_[slot]);
  for (std::size_t first = 0; first < inputs.size(); first += batch_size) {
    const std::size_t count = batch_at(first).size();
    const at::Tensor estimates = Forward(*slots_[slot], count, reduce);
    slot = 1 - slot;
    // On a GPU, this copy runs in parallel with the forward pass that has just been enqueued.
    if (first + count < inputs.size()) StartCopy(batch_at(first + count), *slots_[slot]);
    const at::Tensor on_host = estimates.cpu();  // waits for the stream
    const std::span<float> into = values.subspan(first * width, count * width);
    std::memcpy(into.data(), on_host.const_data_ptr<float>(), into.size_bytes());
  }
}

void TorchEvaluator::StartCopy(ConstRows batch, TransferSlot& slot) {
  slot.AwaitHost();
  std::ranges::copy(batch.bytes(), reinterpret_cast<std::uint8_t*>(slot.host(0).data()));
  slot.EnqueueCopy();
}

at::Tensor TorchEvaluator::Forward(TransferSlot& slot, std::size_t rows, Reduce reduce) {
  slot.AwaitCopy();
  const at::Tensor bytes = slot.device(0).narrow(0, 0, PaddedRows(rows));
  at::Tensor estimates = reduce(net_.Forward(bytes)).contiguous();
  slot.Release();
  return estimates;
}

std::int64_t TorchEvaluator::PaddedRows(std::size_t rows) const {
  return std::min(options_.batch_size, static_cast<std::int64_t>(std::bit_ceil(rows)));
}

}  // namespace tandem
