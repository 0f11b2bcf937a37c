// An evaluator that runs a FrozenNet.
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
  /// Rows per forward pass; the last batch of a call may be smaller.
  std::int64_t batch_size = InferenceConfig{}.batch_size;
  int threads = 1;  ///< CPU threads
};

/// The options that the config section `inference` selects. Requires that every `auto` has been
/// resolved.
TorchEvaluatorOptions EvaluatorOptionsFor(const InferenceConfig& config);

/// The type of a FrozenNet's weights that `inference.precision` selects.
at::ScalarType WeightTypeFor(const InferenceConfig& config);

/// TorchEvaluator evaluates rows with a FrozenNet, on its own stream, so that it runs in parallel
/// with training. EvaluateActions requires a Q net. One call at a time.
class TorchEvaluator final : public QEvaluator {
 public:
  static constexpr std::size_t kNumSlots = 2;  ///< number of batches for which it has memory

  /// `net` and `device` must outlive this object. Throws Error if LibTorch's matrix products are
  /// wrong on this machine (CheckProducts).
  TorchEvaluator(const FrozenNet& net, Device& device, const NetworkSpec& spec,
                 TorchEvaluatorOptions options);

  void Evaluate(ConstRows inputs, std::span<float> values) override;
  void EvaluateActions(ConstRows inputs, std::span<float> values) override;

  /// The number of rows evaluated so far. May be called from any thread.
  std::int64_t num_rows() const { return num_rows_.load(std::memory_order_relaxed); }

 private:
  // Maps the network's outputs (n, outputs) to the m values of each row that the caller gets (n,
  // m).
  using Reduce = at::Tensor (*)(const at::Tensor& outputs);

  void EvaluateAll(ConstRows inputs, std::span<float> values, Reduce reduce);
  static void StartCopy(ConstRows batch, TransferSlot& slot);
  at::Tensor Forward(TransferSlot& slot, std::size_t rows, Reduce reduce);

  // The size to which a short batch is padded: the next power of two, at most batch_size. LibTorch
  // compiles and keeps kernels for each shape that it meets, so there should be few shapes.
  std::int64_t PaddedRows(std::size_t rows) const;

  const FrozenNet& net_;
  const TorchEvaluatorOptions options_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<TransferSlot>> slots_;  // used alternately
  std::atomic<std::int64_t> num_rows_{0};
};

}  // namespace tandem
