// A network with a tensor of whole numbers, as batch normalisation of torch::nn has one.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <memory>

#include "nn/network.h"

namespace tandem {

/// CountingNetwork is one linear layer, and counts its forward passes in training.
class CountingNetwork final : public Network {
 public:
  CountingNetwork(const NetworkSpec& spec, std::uint64_t /*seed*/) : Network(spec) {
    weight_ = RegisterParameter("weight", at::zeros({spec.outputs, spec.features()}));
    count_ = RegisterBuffer("count", at::zeros({}, at::kLong));
  }

  at::Tensor Forward(const at::Tensor& features) override {
    if (is_training()) count_.add_(1);
    return at::linear(features, weight_);
  }

 private:
  at::Tensor weight_, count_;
};

TANDEM_REGISTER_NETWORK(counting_of_test, {.make = [](const NetworkSpec& spec, std::uint64_t seed) {
                          return std::make_unique<CountingNetwork>(spec, seed);
                        }});

}  // namespace tandem
