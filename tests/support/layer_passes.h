// Runs passes on tensors of any device.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <utility>
#include <vector>

#include "nn/gpu/pass_runner.h"

namespace tandem {

template <class T>
T* DataOf(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

// A layer with a residual connection.
struct TestLayer {
  static constexpr std::int64_t kRows = 141;  // in two blocks of a pass over columns
  static constexpr float kEpsilon = 1e-5F;
  static constexpr float kQuantisedScale = 0.005F;  // the largest number in e4m3 stands for 2.24

  TestLayer(std::int64_t width, at::ScalarType type, at::Generator& generator)
      : z(at::randn({kRows, width}, generator).add_(3).to(type)),
        skip(at::randn({kRows, width}, generator).to(type)),
        y_gradient(at::randn({kRows, width}, generator).to(type)),
        scale(at::rand({width}, generator) + 0.5),
        shift(at::rand({width}, generator)),
        bias(at::rand({width}, generator)),
        running_mean(at::zeros({width})),
        running_var(at::ones({width})) {}

  // A copy on another device.
  TestLayer To(c10::Device device) const {
    TestLayer copy = *this;
    for (at::Tensor* tensor : {&copy.z, &copy.skip, &copy.y_gradient, &copy.scale, &copy.shift,
                               &copy.bias, &copy.running_mean, &copy.running_var}) {
      *tensor = tensor->to(device, tensor->scalar_type(), /*non_blocking=*/false, /*copy=*/true);
    }
    return copy;
  }

  at::Tensor z, skip, y_gradient;        // (kRows, width)
  at::Tensor scale, shift, bias;         // (width)
  at::Tensor running_mean, running_var;  // (width), changed by batch normalisation
  Activation activation = Activation::kRelu;
};

struct TestLayerResult {
  at::Tensor y, z_gradient, skip_gradient, scale_gradient, shift_gradient, inverse, quantised;
};

// Runs the forward and the backward pass.
template <class T>
TestLayerResult RunTestLayer(const PassRunner& runner, Norm norm, const TestLayer& layer) {
  constexpr std::int64_t kRows = TestLayer::kRows;
  const std::int64_t width = layer.z.size(1);
  const auto floats = layer.scale.options();
  const at::Tensor statistics = at::zeros({2, norm == Norm::kBatch ? width : kRows}, floats);
  const at::Tensor partial = at::empty({2 * 3 * width}, floats),
                   means = at::zeros({2, width}, floats);
  auto* mean = DataOf<float>(statistics);
  auto* inverse = mean + statistics.size(1);
  TestLayerResult r{.y = at::empty_like(layer.z),
                    .z_gradient = at::empty_like(layer.z),
                    .skip_gradient = at::empty_like(layer.z),
                    .scale_gradient = at::zeros({width}, floats),
                    .shift_gradient = at::zeros({width}, floats),
                    .inverse = statistics[1],
                    .quantised = at::empty_like(layer.z, at::kFloat8_e4m3fn)};
  const bool is_rms = norm == Norm::kRms;
  const LayerRows<T> rows{.rows = kRows,
                          .width = width,
                          .norm = norm,
                          .activation = layer.activation,
                          .z = DataOf<T>(layer.z),
                          .skip = DataOf<T>(layer.skip),
                          .scale = DataOf<float>(layer.scale),
                          .shift = is_rms ? nullptr : DataOf<float>(layer.shift),
                          .mean = is_rms ? nullptr : mean,
                          .inverse = inverse,
                          .epsilon = TestLayer::kEpsilon};
  if (norm == Norm::kBatch) {
    runner.Run(BatchMoments<T>{
        .rows = kRows, .width = width, .z = rows.z, .partial = DataOf<float>(partial)});
    runner.Run(FinishBatchMoments<T>{.rows = kRows,
                                     .width = width,
                                     .z = rows.z,
                                     .partial = DataOf<float>(partial),
                                     .bias = DataOf<float>(layer.bias),
                                     .epsilon = TestLayer::kEpsilon,
                                     .momentum = 0.1F,
                                     .mean = mean,
                                     .inverse = inverse,
                                     .running_mean = DataOf<float>(layer.running_mean),
                                     .running_var = DataOf<float>(layer.running_var)});
  }
  const at::Tensor scale = at::empty({}, floats).fill_(TestLayer::kQuantisedScale);
  runner.Run(ForwardPass<T>{.layer = rows,
                            .row_mean = mean,
                            .row_inverse = inverse,
                            .y = DataOf<T>(r.y),
                            .quantised = DataOf<E4m3>(r.quantised),
                            .quantised_scale = DataOf<float>(scale)});
  const LayerGradients<T> gradients{
      .layer = rows, .y = DataOf<T>(r.y), .y_gradient = DataOf<T>(layer.y_gradient)};
  runner.Run(ColumnSums<T>{
      .gradients = gradients, .z_gradient = nullptr, .partial = DataOf<float>(partial)});
  runner.Run(FinishSums<3>{
      .rows = kRows,
      .width = width,
      .partial = DataOf<float>(partial),
      .add = false,
      .gradients = {DataOf<float>(r.shift_gradient), DataOf<float>(r.scale_gradient), nullptr},
      .mean_gradient = DataOf<float>(means),
      .mean_product = DataOf<float>(means) + width});
  runner.Run(BackwardPass<T>{.gradients = gradients,
                             .mean_gradient = DataOf<float>(means),
                             .mean_product = DataOf<float>(means) + width,
                             .z_gradient = DataOf<T>(r.z_gradient),
                             .skip_gradient = DataOf<T>(r.skip_gradient)});
  return r;
}

inline TestLayerResult RunTestLayer(const PassRunner& runner, Norm norm, const TestLayer& layer) {
  return layer.z.scalar_type() == at::kFloat ? RunTestLayer<float>(runner, norm, layer)
                                             : RunTestLayer<Bf16>(runner, norm, layer);
}

// The features of states' values, which are bytes.
inline at::Tensor RunOneHot(const PassRunner& runner, const at::Tensor& values, std::int64_t depth,
                            std::int64_t padding, at::ScalarType type) {
  at::Tensor features =
      at::empty({values.size(0), padding + values.size(1) * depth}, values.options().dtype(type));
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    runner.Run(OneHotPass<T>{.rows = values.size(0),
                             .positions = values.size(1),
                             .depth = depth,
                             .padding = padding,
                             .values = DataOf<std::uint8_t>(values),
                             .features = DataOf<T>(features)});
  };
  type == at::kFloat ? run(float()) : run(Bf16());
  return features;
}

struct TestOutputResult {
  at::Tensor y, x_gradient, weight_gradient;
};

// An output layer.
struct TestOutput {
  static constexpr std::int64_t kRows = 141;

  TestOutput(std::int64_t width, std::int64_t outputs, at::ScalarType type,
             at::Generator& generator)
      : x(at::randn({kRows, width}, generator).to(type)),
        weight(at::randn({outputs, width}, generator)),
        bias(at::randn({outputs}, generator)),
        y_gradient(at::randn({kRows, outputs}, generator)) {}

  TestOutput To(c10::Device device) const {
    TestOutput copy = *this;
    for (at::Tensor* tensor : {&copy.x, &copy.weight, &copy.bias, &copy.y_gradient}) {
      *tensor = tensor->to(device);
    }
    return copy;
  }

  // Runs the forward and the backward pass; the gradient of the weights is added twice.
  TestOutputResult Run(const PassRunner& runner) const {
    return x.scalar_type() == at::kFloat ? RunAs<float>(runner) : RunAs<Bf16>(runner);
  }

  at::Tensor x, weight, bias, y_gradient;

 private:
  template <class T>
  TestOutputResult RunAs(const PassRunner& runner) const {
    const std::int64_t width = x.size(1);
    const std::int64_t outputs = weight.size(0);
    TestOutputResult r{.y = at::empty_like(y_gradient),
                       .x_gradient = at::empty_like(x),
                       .weight_gradient = at::empty_like(weight)};
    const at::Tensor partial = at::empty({2 * outputs * width}, weight.options());
    runner.Run(OutputPass<T>{.rows = kRows,
                             .width = width,
                             .outputs = outputs,
                             .x = DataOf<T>(x),
                             .weight = DataOf<float>(weight),
                             .bias = DataOf<float>(bias),
                             .y = DataOf<float>(r.y)});
    runner.Run(OutputInputGradient<T>{.rows = kRows,
                                      .width = width,
                                      .outputs = outputs,
                                      .y_gradient = DataOf<float>(y_gradient),
                                      .weight = DataOf<float>(weight),
                                      .x_gradient = DataOf<T>(r.x_gradient)});
    runner.Run(OutputWeightSums<T>{.rows = kRows,
                                   .width = width,
                                   .outputs = outputs,
                                   .x = DataOf<T>(x),
                                   .y_gradient = DataOf<float>(y_gradient),
                                   .partial = DataOf<float>(partial)});
    for (const bool add : {false, true}) {
      runner.Run(FinishSums<1>{.rows = kRows,
                               .width = outputs * width,
                               .partial = DataOf<float>(partial),
                               .add = add,
                               .gradients = {DataOf<float>(r.weight_gradient)}});
    }
    return r;
  }
};

// The parameters of Adam before its first step.
struct TestAdam {
  TestAdam(std::int64_t count, at::Generator& generator)
      : x(at::randn({count}, generator)),
        mean(at::zeros({count})),
        mean_square(at::zeros({count})),
        steps(at::zeros({})),
        rate(at::zeros({}).fill_(0.01)),
        copies(at::zeros({count}, at::kBFloat16)) {}

  TestAdam To(c10::Device device) const {
    TestAdam copy = *this;
    for (at::Tensor* tensor :
         {&copy.x, &copy.mean, &copy.mean_square, &copy.steps, &copy.rate, &copy.copies}) {
      *tensor = tensor->to(device, tensor->scalar_type(), /*non_blocking=*/false, /*copy=*/true);
    }
    return copy;
  }

  void Step(const PassRunner& runner, const at::Tensor& gradients) const {
    steps.add_(1);
    runner.Run(AdamPass{.count = x.numel(),
                        .parameters = DataOf<float>(x),
                        .gradients = DataOf<float>(gradients),
                        .mean = DataOf<float>(mean),
                        .mean_square = DataOf<float>(mean_square),
                        .copies = DataOf<Bf16>(copies),
                        .steps = DataOf<float>(steps),
                        .rate = DataOf<float>(rate),
                        .beta1 = 0.9,
                        .beta2 = 0.999,
                        .weight_decay = 0.1F,
                        .epsilon = 1e-8F});
  }

  at::Tensor x, mean, mean_square, steps, rate, copies;
};

}  // namespace tandem
