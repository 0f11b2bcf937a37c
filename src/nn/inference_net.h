// A copy of a network's weights for inference.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/config.h"
#include "nn/device.h"
#include "nn/resnet_fc.h"
#include "tandem/evaluator.h"

namespace tandem {

/// FrozenNet is a copy of a network for inference. Batch normalisation is folded into the linear
/// layers, and the weights may be in bf16.
///
/// The weights stay at the same address. CopyFrom rewrites them, so no thread may be in Forward at
/// that time; the modes copy weights only between fills.
class FrozenNet {
 public:
  /// Allocates the weights without initialising them; CopyFrom fills them. `type` is kFloat or
  /// kBFloat16.
  FrozenNet(const NetworkSpec& spec, at::ScalarType type, c10::Device device);

  /// Copies the weights of `net`, which must have the same spec. On a GPU, enqueues the copy on the
  /// calling thread's current stream and returns at once.
  void CopyFrom(const ResNetFC& net);

  /// Maps bytes (n, positions) to floats (n, outputs), in inference mode. On a GPU, makes the
  /// current stream wait for the last copy of the weights, on whichever stream that copy is. Does
  /// not block the thread.
  at::Tensor Forward(const at::Tensor& bytes) const;

  /// The tensors of this object, by name.
  StateDict State() const;

  c10::Device device() const { return device_; }

 private:
  class Layer {
   public:
    Layer(const DenseShape& shape, at::ScalarType type, c10::Device device);
    void CopyFrom(const Dense& dense);
    at::Tensor operator()(const at::Tensor& x) const;
    void AddTo(StateDict& state, const std::string& name) const;

   private:
    at::Tensor weight_, bias_;
    at::Tensor norm_weight_, norm_bias_;  // for layer normalisation, which cannot be folded
  };
  // The output layer. It always runs in fp32: in bf16, estimates near 20 would be multiples of 1/8,
  // and searches would rank states by chance.
  class Output {
   public:
    Output(const DenseShape& shape, c10::Device device);
    void CopyFrom(const Dense& dense);
    at::Tensor operator()(const at::Tensor& x) const;
    void AddTo(StateDict& state, const std::string& name) const { linear_.AddTo(state, name); }

   private:
    Layer linear_;
  };
  struct Block {
    std::unique_ptr<Layer> first, second;
  };
  struct Layers {
    std::vector<std::unique_ptr<Layer>> hidden;
    std::vector<Block> blocks;
    std::unique_ptr<Output> output;
  };

  c10::Device device_;
  OneHot one_hot_;
  Layers layers_;
  std::optional<c10::Event> copied_;  // recorded by CopyFrom; unset on a CPU, which has no streams
};

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

/// OnlineEvaluator evaluates the network that is being trained, through a frozen copy that it
/// refreshes if the network has changed since the last call. Only the thread that trains may use
/// it, between iterations.
class OnlineEvaluator final : public Evaluator {
 public:
  /// `net` and `device` must outlive this object. `type` is the element type of the frozen copy's
  /// weights (FrozenNet).
  OnlineEvaluator(const ResNetFC& net, at::ScalarType type, Device& device,
                  TorchEvaluatorOptions options);

  /// Call after each iteration that has changed the network.
  void Changed() { changed_ = true; }

  void Evaluate(ConstRows inputs, std::span<float> values) override;

  /// The number of rows evaluated so far.
  std::int64_t num_rows() const { return evaluator_.num_rows(); }

 private:
  const ResNetFC& net_;
  std::unique_ptr<Stream> stream_;
  FrozenNet frozen_;
  TorchEvaluator evaluator_;
  bool changed_ = true;
};

}  // namespace tandem
