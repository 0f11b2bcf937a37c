// The Evaluator that asks a FrozenNet.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/train_config.h"
#include "nn/device.h"
#include "nn/frozen_net.h"
#include "tandem/evaluator.h"

namespace tandem {

struct TorchEvaluatorOptions {
  std::int64_t batch_size =
      InferenceConfig{}.batch_size;  ///< rows at once; the last batch of a call may be smaller
  int threads = 1;                   ///< CPU threads
};

/// What a config says. It has no `auto` left.
TorchEvaluatorOptions EvaluatorOptionsFor(const InferenceConfig& config);

/// And of which type the weights of its FrozenNet are to be.
at::ScalarType WeightTypeFor(const InferenceConfig& config);

/// Evaluates on a stream of its own, so that it runs beside training. EvaluateActions requires a Q
/// net.
class TorchEvaluator final : public QEvaluator {
 public:
  static constexpr std::size_t kNumSlots = 2;  ///< batches that it has memory for

  /// `net` and `device` must outlive this.
  TorchEvaluator(const FrozenNet& net, Device& device, const NetworkSpec& spec,
                 TorchEvaluatorOptions options);

  void Evaluate(ConstRows inputs, std::span<float> values) override;
  void EvaluateActions(ConstRows inputs, std::span<float> values) override;

  /// Rows evaluated until now. May be called from any thread.
  std::int64_t num_rows() const { return num_rows_.load(std::memory_order_relaxed); }

 private:
  // What becomes of the network's outputs (n, outputs): (n, m), m values a row.
  using Reduce = at::Tensor (*)(const at::Tensor& outputs);

  void EvaluateAll(ConstRows inputs, std::span<float> values, Reduce reduce);
  static void StartCopy(ConstRows batch, TransferSlot& slot);
  at::Tensor Forward(TransferSlot& slot, std::size_t rows, Reduce reduce);

  // Short batches are padded to a power of two: LibTorch compiles and keeps kernels for each shape
  // that it meets.
  std::int64_t PaddedRows(std::size_t rows) const;

  const FrozenNet& net_;
  const TorchEvaluatorOptions options_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;  // taken in turns
  std::atomic<std::int64_t> num_rows_{0};
};

}  // namespace tandem
