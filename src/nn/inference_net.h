// A copy of a network's weights for inference.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/config.h"
#include "nn/device.h"
#include "nn/network.h"
#include "tandem/evaluator.h"

namespace tandem {

/// InferenceNet is a copy of a network that evaluates rows on its own stream, so that it runs in
/// parallel with training. The NetworkCopy of the network's kind does the arithmetic, in the
/// precision of `inference.precision`.
///
/// If the network takes an action as input (head q_in), each state is evaluated with every action,
/// so that callers see the outputs of a Q net. inference.batch_size then counts pairs of a state
/// and an action.
///
/// The weights stay at the same address, and Load rewrites them. No thread may evaluate while
/// another thread is in Load; the modes copy weights only between fills. On a GPU no thread waits:
/// an evaluation that follows a Load waits for it on the device. One evaluation at a time.
class InferenceNet final : public Evaluator {
 public:
  static constexpr std::size_t kNumSlots = 2;  ///< number of batches for which it has memory

  /// Allocates the weights without initialising them; Load fills them. `config` must have no `auto`
  /// left. `device` must outlive this object. Throws Error if LibTorch's matrix products are wrong
  /// on this machine (CheckProducts).
  InferenceNet(const NetworkSpec& spec, const InferenceConfig& config, Device& device);

  /// Copies the weights of `net`, which must have the same spec, on the device's main stream. On a
  /// GPU, returns at once.
  void Load(const Network& net);

  bool estimates_states() const override { return EstimatesCosts(head_); }
  ActionValues action_values() const override;

  /// Writes the estimate of each row to `values`; with a Q net, the least of its action values.
  void Evaluate(ConstRows inputs, std::span<float> values) override;

  /// Writes the action values of each row: Q values, or the surprisals of a policy or of head vp.
  void EvaluateActions(ConstRows inputs, std::span<float> values) override;

  /// With head vp, evaluates each state once.
  void EvaluateWithActions(ConstRows inputs, std::span<float> values) override;

  /// Maps bytes (n, positions) on the device to the estimates (n) that Evaluate writes, in the same
  /// batches, on the calling thread's current stream. On a GPU, no thread waits. Requires a head
  /// that estimates costs.
  at::Tensor EstimateBatches(const at::Tensor& bytes);

  /// Maps bytes (n, positions of a state) on the device to floats (n, outputs), on the calling
  /// thread's current stream. With head q_in, the outputs are those of all actions.
  at::Tensor Forward(const at::Tensor& bytes);

  /// The weights, by name. The tensors are not copies, so writing to them changes this object.
  StateDict State() const { return copy_->State(); }

  bool rows_are_independent() const override { return copy_->rows_are_independent(); }

 private:
  // Map the network's outputs (n, outputs) to what Evaluate (n), EvaluateActions (n, actions) and
  // EvaluateWithActions (n, 1 + actions) write.
  using Reduce = at::Tensor (InferenceNet::*)(const at::Tensor& outputs) const;
  at::Tensor ToEstimates(const at::Tensor& outputs) const;
  at::Tensor ToActionValues(const at::Tensor& outputs) const;
  at::Tensor ToBoth(const at::Tensor& outputs) const;

  at::Tensor PairWithActions(const at::Tensor& bytes) const;
  void EvaluateAll(ConstRows inputs, std::span<float> values, Reduce reduce);
  void CheckSizes(ConstRows inputs, std::span<const float> values) const;
  static void Write(std::span<const std::byte> result, std::span<float> values);
  static void StartCopy(ConstRows batch, TransferSlot& slot);
  at::Tensor ForwardSlot(TransferSlot& slot, std::size_t rows, Reduce reduce);

  // The size to which a short batch is padded: the next power of two, at most batch_size. LibTorch
  // compiles and keeps kernels for each shape that it meets, so there should be few shapes. A copy
  // whose rows are independent has one shape for all batches and needs no padding.
  std::int64_t PaddedRows(std::size_t rows) const;

  const Head head_;
  const std::int64_t batch_size_;
  const int threads_;
  const c10::Device device_;
  const at::Tensor actions_;  // (number of actions, positions of one); undefined without head q_in
  const std::unique_ptr<NetworkCopy> copy_;
  std::optional<c10::Event> loaded_;     // recorded by Load; unset on a CPU, which has no streams
  std::unique_ptr<Stream> main_stream_;  // for Load
  std::unique_ptr<Stream> own_stream_;   // for evaluations
  std::vector<std::unique_ptr<TransferSlot>> slots_;  // used alternately
  std::vector<std::unique_ptr<ResultSlot>> results_;  // of each slot
};

}  // namespace tandem
