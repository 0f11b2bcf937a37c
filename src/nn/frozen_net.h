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

/// Batch normalisation is folded into the linear layers, and the weights may be of lower precision.
/// The weights' memory stays the same for life: CopyFrom rewrites it, so nobody may be inside
/// Forward then (TargetNetworkSchedule publishes between fills).
class FrozenNet {
 public:
  /// Makes room for the weights, which CopyFrom fills. `type` is kFloat or kBFloat16.
  FrozenNet(const NetworkSpec& spec, at::ScalarType type, c10::Device device);

  /// Copies the weights of `net`, whose spec must be this one's. On a GPU the copy is only enqueued
  /// on the calling thread's current stream.
  void CopyFrom(const ResNetFC& net);

  /// Bytes (n, positions) to floats (n, outputs), in inference mode. On a GPU the current stream
  /// waits for the last copy of the weights, whichever stream it runs on; the thread does not wait.
  at::Tensor Forward(const at::Tensor& bytes) const;

  /// Its own tensors by name.
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
    at::Tensor norm_weight_, norm_bias_;  // of layer normalisation, which cannot be folded
  };
  // Always in fp32: in bf16, estimates near 20 would be multiples of 1/8, and searches would rank
  // states by chance.
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
  std::optional<c10::Event> copied_;  // recorded by CopyFrom; none on a CPU, which has no streams
};

}  // namespace tandem
