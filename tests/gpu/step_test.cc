// Compares training steps and inference by tensor programs on a real GPU with the CPU, and recorded
// steps with others. Skipped, with the reason, without a GPU.
#include <ATen/ops/cat.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "nn/gpu/gpu_backend.h"
#include "nn/inference_net.h"
#include "nn/optimizer.h"
#include "support/layer_passes.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr InputLayout kInput{.positions = 54, .depth = 6};

class CudaStep : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = OpenDevice("cuda");
    } catch (const InputError& error) {
      GTEST_SKIP() << error.what();
    }
    if (device_->passes() == nullptr) GTEST_SKIP() << "no kernels for this GPU";
    stream_scope_ = device_->MainStream()->Enter();
  }

  // The distance relative to the norm of `from`, which is on the CPU.
  static double Distance(const at::Tensor& tensor, const at::Tensor& from) {
    const at::Tensor exact = from.to(at::kFloat);
    return ((tensor.cpu().to(at::kFloat) - exact).norm() / (exact.norm() + 1e-30)).item<double>();
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<StreamScope> stream_scope_;
  at::Generator generator_ = InitialWeights(/*seed=*/1);
};

TEST_F(CudaStep, EveryPassMatchesTheCpu) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t width : {6, 33, 64, 200, 1000, 5000}) {
      for (const Norm norm : {Norm::kLayer, Norm::kRms, Norm::kBatch}) {
        for (const Activation activation : {Activation::kRelu, Activation::kLeakyRelu}) {
          SCOPED_TRACE(testing::Message()
                       << NameOf(kNorms, norm) << ", " << NameOf(kActivations, activation)
                       << ", width " << width << ", " << c10::toString(type));
          TestLayer layer(width, type, generator_);
          layer.activation = activation;
          const TestLayer on_gpu = layer.To(device_->torch());
          const TestLayerResult expected = RunTestLayer(HostPassRunner(), norm, layer);
          const TestLayerResult actual = RunTestLayer(*device_->passes(), norm, on_gpu);
          const double tolerance = type == at::kFloat ? 1e-4 : 1e-2;
          EXPECT_LT(Distance(actual.y, expected.y), tolerance);
          EXPECT_LT(Distance(actual.inverse, expected.inverse), tolerance);
          EXPECT_LT(Distance(actual.quantised, expected.quantised), 0.05);
          EXPECT_LT(Distance(on_gpu.running_var, layer.running_var), tolerance);
          // ReLU's slope jumps at 0. If rounding puts one number on the other side, a gradient
          // appears or vanishes, which is at most a few of the 846 numbers of the narrowest layer.
          const double of_gradients = activation == Activation::kRelu ? 0.1 : tolerance;
          EXPECT_LT(Distance(actual.skip_gradient, expected.skip_gradient), of_gradients);
          EXPECT_LT(Distance(actual.scale_gradient, expected.scale_gradient), of_gradients);
          EXPECT_LT(Distance(actual.shift_gradient, expected.shift_gradient), of_gradients);
          EXPECT_LT(Distance(actual.z_gradient, expected.z_gradient), of_gradients);
        }
      }
    }
  }
}

TEST_F(CudaStep, OneHotIsThatOfTheCpu) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t padding : {0, 1, 4}) {
      const at::Tensor values = at::randint(0, 6, {1000, 54}, generator_, at::kByte);
      const at::Tensor expected = RunOneHot(HostPassRunner(), values, 6, padding, type);
      const at::Tensor actual =
          RunOneHot(*device_->passes(), values.to(device_->torch()), 6, padding, type);
      EXPECT_TRUE(actual.cpu().equal(expected));
    }
  }
}

// A launch of a kernel takes at most 65,535 blocks of 128 rows.
TEST_F(CudaStep, APassMayHaveMoreRowsThanALaunch) {
  const at::Tensor values =
      at::randint(0, 2, {65'535 * kRowsOfColumnBlock + 1, 1}, generator_, at::kByte);
  const at::Tensor features =
      RunOneHot(*device_->passes(), values.to(device_->torch()), 2, /*padding=*/0, at::kFloat);
  const at::Tensor is_one = values.cpu().eq(1);
  EXPECT_TRUE(features.cpu().eq(1).equal(at::cat({is_one.logical_not(), is_one}, 1)));
}

TEST_F(CudaStep, TheOutputLayerMatchesTheCpu) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t width : {33, 1000}) {
      for (const std::int64_t outputs : {1, 13}) {
        const TestOutput output(width, outputs, type, generator_);
        const TestOutputResult expected = output.Run(HostPassRunner());
        const TestOutputResult actual = output.To(device_->torch()).Run(*device_->passes());
        EXPECT_LT(Distance(actual.y, expected.y), 1e-5);
        EXPECT_LT(Distance(actual.x_gradient, expected.x_gradient), 1e-2);
        EXPECT_LT(Distance(actual.weight_gradient, expected.weight_gradient), 1e-5);
      }
    }
  }
}

TEST_F(CudaStep, AdamMatchesTheCpu) {
  const TestAdam adam(1'000'003, generator_);
  const TestAdam on_gpu = adam.To(device_->torch());
  for (int i = 0; i < 3; ++i) {
    const at::Tensor gradients = at::randn({adam.x.numel()}, generator_);
    adam.Step(HostPassRunner(), gradients);
    on_gpu.Step(*device_->passes(), gradients.to(device_->torch()));
  }
  EXPECT_LT(Distance(on_gpu.x, adam.x), 1e-6);
  EXPECT_LT(Distance(on_gpu.mean_square, adam.mean_square), 1e-5);
  EXPECT_TRUE(on_gpu.copies.equal(on_gpu.x.to(at::kBFloat16)));
}

struct StepCase {
  Norm norm;
  Precision precision;
  std::int64_t parts;
  const char* kind = "resnet_fc";
};

class CudaTensorStep : public CudaStep, public testing::WithParamInterface<StepCase> {
 protected:
  static constexpr std::int64_t kRows = 1000;

  // Gradients of one step.
  std::vector<at::Tensor> Gradients(Device& device) const {
    ResNetFC net(spec_, /*seed=*/1);
    net.To(device.torch());
    const auto step = MakeTensorStep(net, ConfigOf(/*may_capture=*/false), device);
    step->SetGradients(inputs_.to(device.torch()), targets_.to(device.torch()), {});
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : net.parameters()) {
      gradients.push_back(parameter.grad().cpu());
    }
    return gradients;
  }

  static TrainingConfig ConfigOf(bool may_capture) {
    TrainingConfig config;
    config.precision = GetParam().precision;
    config.accumulation_steps = GetParam().parts;
    config.may_capture = may_capture;
    return config;
  }

  // The weights and losses after steps on batches of several sizes and with several rates.
  // `in_two`: with the optimizer outside of the repeated work, as with several ranks.
  std::vector<at::Tensor> Train(bool may_capture, bool in_two = false) const {
    ResNetFC net(spec_, /*seed=*/1);
    net.To(device_->torch());
    const auto step = MakeTensorStep(net, ConfigOf(may_capture), *device_);
    Optimizer optimizer(net.parameters(), {.weight_decay = 0.1}, step->flat(), device_->passes());
    std::vector<at::Tensor> results;
    for (const std::int64_t rows : {kRows, kRows / 2}) {
      for (int i = 0; i < 8; ++i) {  // the first ones are not recorded
        const auto batch = [&](const at::Tensor& of) {
          return of.narrow(0, (i % 2) * (kRows - rows), rows).to(device_->torch());
        };
        GradientStep::Update update{.optimizer = optimizer, .learning_rate = 1e-3 / (i + 1)};
        if (in_two) update.reduce = [](const at::Tensor& loss) { return loss; };
        results.push_back(step->Step(batch(inputs_), batch(targets_), {}, update).cpu());
      }
    }
    for (const auto& [name, tensor] : net.State()) results.push_back(tensor.detach().cpu());
    return results;
  }

  const NetworkSpec spec_{.input = kInput,
                          .layers = {.kind = GetParam().kind,
                                     .stem_width = 128,
                                     .width = 64,
                                     .blocks = 2,
                                     .norm = GetParam().norm}};
  const at::Tensor inputs_ = at::randint(0, 6, {kRows, 54}, generator_, at::kByte);
  const at::Tensor targets_ = at::randn({kRows, 1}, generator_);
};

TEST_P(CudaTensorStep, GradientsAreThoseOfTheCpu) {
  const auto cpu = OpenDevice("cpu");
  const std::vector<at::Tensor> expected = Gradients(*cpu);
  const std::vector<at::Tensor> actual = Gradients(*device_);
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (actual[i] - expected[i]).square().sum().item<double>();
    size += expected[i].square().sum().item<double>();
  }
  // ReLU's slope jumps at 0, and rounding may put a number on the other side.
  EXPECT_LT(std::sqrt(difference / size), GetParam().precision == Precision::kFp32 ? 1e-2 : 3e-2);
}

TEST_P(CudaTensorStep, CapturedStepsGiveTheWeightsOfOthers) {
  const std::vector<at::Tensor> expected = Train(/*may_capture=*/false);
  const std::vector<at::Tensor> actual = Train(/*may_capture=*/true);
  const std::vector<at::Tensor> in_two = Train(/*may_capture=*/true, /*in_two=*/true);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(actual[i].allclose(expected[i], /*rtol=*/1e-4, /*atol=*/1e-6)) << i;
    EXPECT_TRUE(in_two[i].allclose(expected[i], /*rtol=*/1e-4, /*atol=*/1e-6)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CudaTensorStep,
                         testing::Values(StepCase{Norm::kNone, Precision::kBf16, 1},
                                         StepCase{Norm::kBatch, Precision::kBf16, 1},
                                         StepCase{Norm::kLayer, Precision::kBf16, 1},
                                         StepCase{Norm::kRms, Precision::kBf16, 1},
                                         StepCase{Norm::kBatch, Precision::kFp32, 1},
                                         StepCase{Norm::kBatch, Precision::kBf16, 1, "mlp"},
                                         StepCase{Norm::kLayer, Precision::kBf16, 2},
                                         StepCase{Norm::kLayer, Precision::kFp32, 2}));

TEST_F(CudaStep, InferenceByTensorsIsThatOfTheCpu) {
  const auto cpu = OpenDevice("cpu");
  const at::Tensor rows = at::randint(0, 6, {1000, 54}, generator_, at::kByte);
  const ConstRows inputs(rows.const_data_ptr<std::uint8_t>(), 1000, 54);
  for (const Norm norm : {Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms}) {
    const NetworkSpec spec{.input = kInput,
                           .layers = {.stem_width = 120, .width = 72, .blocks = 2, .norm = norm}};
    const ResNetFC net(spec, 1);
    const auto values = [&](Device& device, BackendKind forward, Precision precision) {
      InferenceNet copy(
          spec, {.batch_size = 300, .threads = 1, .precision = precision, .backend = forward},
          device);
      copy.Load(net);
      std::vector<float> of_rows(1000);
      copy.Evaluate(inputs, of_rows);
      return of_rows;
    };
    const auto error = [](const std::vector<float>& actual, const std::vector<float>& expected) {
      double squares = 0;
      for (std::size_t i = 0; i < actual.size(); ++i) {
        squares += std::pow(actual[i] - expected[i], 2);
      }
      return std::sqrt(squares / static_cast<double>(actual.size()));
    };
    const auto exact = values(*cpu, BackendKind::kReference, Precision::kFp32);
    const auto tensors = BackendKind::kGpu;
    EXPECT_LT(error(values(*device_, tensors, Precision::kFp32), exact), 2e-3);
    EXPECT_LT(error(values(*device_, tensors, Precision::kBf16), exact), 2e-2);
    const bool by_row = norm == Norm::kLayer || norm == Norm::kRms;
    if (device_->has_fp8() && !by_row) {  // with these norms, widths must be multiples of 16
      EXPECT_LT(error(values(*device_, tensors, Precision::kFp8), exact), 0.1);
    }
  }
}

}  // namespace
}  // namespace tandem
