#include "nn/fused/default_parameters.h"

#include <algorithm>

namespace tandem {

DefaultParameters::DefaultParameters(const std::vector<LayerShape>& shapes) {
  std::int64_t widest = 0;
  for (std::size_t i = 0; i + 1 < shapes.size(); ++i) widest = std::max(widest, shapes[i].out);
  ones_.assign(static_cast<std::size_t>(widest), 1);
  zeros_.assign(static_cast<std::size_t>(widest), 0);
}

HiddenLayer DefaultParameters::Describe(const LayerShape& shape, Activation activation,
                                        const DenseTensors& parameters) const {
  const auto or_else = [](const at::Tensor& parameter, const AlignedVector<float>& missing) {
    return parameter.defined() ? parameter.const_data_ptr<float>() : missing.data();
  };
  return {.width = shape.out,
          .norm = shape.norm == Norm::kBatch ? Norm::kNone : shape.norm,
          .activation = activation,
          .linear = shape.linear,
          .bias = or_else(parameters.bias, zeros_),
          .scale = or_else(parameters.norm_weight, ones_),
          .shift = or_else(parameters.norm_bias, zeros_),
          .epsilon = static_cast<float>(Dense::kEpsilon)};
}

}  // namespace tandem
