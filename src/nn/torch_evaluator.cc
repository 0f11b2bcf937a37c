#include "nn/torch_evaluator.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "nn/threads.h"

namespace tandem {

TorchEvaluator::TorchEvaluator(const FrozenNet& net, Device& device, const NetworkSpec& spec,
                               TorchEvaluatorOptions options)
    : net_(net), options_(options), stream_(device.MakeStream()) {
  const TensorSpec inputs{.type = at::kByte, .sizes = {options.batch_rows, spec.input.positions}};
  slot_ = std::move(device.MakeSlots(1, {inputs}).front());
  std::ranges::fill(slot_->host(0), std::byte{0});  // padding must be valid input
}

void TorchEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  EvaluateAll(inputs, values, [](const at::Tensor& outputs) { return outputs.amin(1); });
}

void TorchEvaluator::EvaluateActions(ConstRows inputs, std::span<float> values) {
  EvaluateAll(inputs, values, [](const at::Tensor& outputs) { return outputs; });
}

void TorchEvaluator::EvaluateAll(ConstRows inputs, std::span<float> values, Reduce reduce) {
  if (inputs.empty()) return;
  const std::size_t width = values.size() / inputs.size();
  const ScopedThreads threads(options_.threads);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  const auto batch_rows = static_cast<std::size_t>(options_.batch_rows);
  for (std::size_t first = 0; first < inputs.size(); first += batch_rows) {
    const std::size_t count = std::min(batch_rows, inputs.size() - first);
    EvaluateBatch(inputs.Slice(first, count), values.subspan(first * width, count * width), reduce);
  }
}

void TorchEvaluator::EvaluateBatch(ConstRows inputs, std::span<float> values, Reduce reduce) {
  slot_->AwaitHost();
  std::ranges::copy(inputs.bytes(), reinterpret_cast<std::uint8_t*>(slot_->host(0).data()));
  slot_->EnqueueCopy();
  slot_->AwaitCopy();
  const at::Tensor bytes = slot_->device(0).narrow(0, 0, PaddedRows(inputs.size()));
  const at::Tensor estimates = reduce(net_.Forward(bytes)).contiguous();
  slot_->Release();
  const at::Tensor on_host = estimates.cpu();  // waits for the stream
  std::memcpy(values.data(), on_host.const_data_ptr<float>(), values.size_bytes());
}

std::int64_t TorchEvaluator::PaddedRows(std::size_t rows) const {
  return std::min(options_.batch_rows, static_cast<std::int64_t>(std::bit_ceil(rows)));
}

}  // namespace tandem
