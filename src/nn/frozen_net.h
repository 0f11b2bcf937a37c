// A copy of a network's weights for inference.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <memory>
#include <optional>
#include <vector>

#include "nn/one_hot.h"
#include "nn/resnet_fc.h"

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

}  // namespace tandem
