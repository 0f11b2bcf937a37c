// Compares TensorCopy with the inference copy by operators.
#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "nn/gpu/gpu_backend.h"
#include "nn/gpu/pass_runner.h"
#include "nn/inference_net.h"
#include "nn/reference_backend.h"
#include "nn/resnet_fc.h"
#include "nn/tensor_file.h"
#include "support/by_operators.h"
#include "support/recording_device.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr InputLayout kInput{.positions = 7, .depth = 5};  // 35 features, so 5 more are added
constexpr std::int64_t kBatchRows = 50;

// A network whose batch normalisation has statistics, and whose normalisation is not the identity.
ResNetFC NetworkOf(const NetworkSpec& spec, at::Generator& generator) {
  ResNetFC net(spec, /*seed=*/1);
  const c10::NoGradGuard no_grad;
  for (const auto& layer : net.layers()) {
    for (at::Tensor* tensor :
         {&layer->norm_weight, &layer->norm_bias, &layer->running_mean, &layer->running_var}) {
      if (tensor->defined()) tensor->copy_(at::rand(tensor->sizes(), generator) + 0.5);
    }
  }
  return net;
}

at::Tensor Evaluated(NetworkCopy& copy, const Network& net, const at::Tensor& bytes) {
  const c10::InferenceMode inference;
  copy.Load(net);
  return copy.Forward(bytes);
}

double ErrorOf(const at::Tensor& actual, const at::Tensor& expected) {
  return ((actual - expected).norm() / expected.norm()).item<double>();
}

// Which layers a network has. A linear input layer has no stem.
struct Layers {
  const char* kind;
  int stem_width;
  InputLayer input_layer;
};

class TensorCopies : public testing::TestWithParam<std::tuple<Norm, Activation, Layers>> {
 protected:
  NetworkSpec spec_{.input = kInput,
                    .layers = {.kind = std::get<Layers>(GetParam()).kind,
                               .stem_width = std::get<Layers>(GetParam()).stem_width,
                               .width = 32,
                               .blocks = 2,
                               .norm = std::get<Norm>(GetParam()),
                               .activation = std::get<Activation>(GetParam()),
                               .input_layer = std::get<Layers>(GetParam()).input_layer},
                    .outputs = 3};
  at::Generator generator_ = InitialWeights(/*seed=*/1);
  const at::Tensor bytes_ =
      at::randint(0, kInput.depth, {kBatchRows, kInput.positions}, generator_, at::kByte);
  const std::unique_ptr<Device> cpu_ = OpenDevice("cpu");
};

TEST_P(TensorCopies, EvaluateAsOperatorsDo) {
  const ResNetFC net = NetworkOf(spec_, generator_);
  const auto operators = MakeInferenceCopy(spec_, ByOperators(kBatchRows), *cpu_);
  const at::Tensor expected = Evaluated(*operators, net, bytes_);
  for (const auto& [precision, error] :
       {std::pair(Precision::kFp32, 1e-5), {Precision::kBf16, 2e-2}}) {
    const auto tensors =
        MakeInferenceCopy(spec_, {.precision = precision, .backend = BackendKind::kGpu}, *cpu_);
    EXPECT_LT(ErrorOf(Evaluated(*tensors, net, bytes_), expected), error);
  }
}

// LibTorch's CPU has products in fp8, so the program can be run there, if slowly.
class Fp8Device final : public RecordingDevice {
 public:
  bool has_fp8() const override { return true; }
  const PassRunner* passes() const override { return &passes_; }

 private:
  HostPassRunner passes_;
};

TEST_P(TensorCopies, EvaluateInFp8) {
  const ResNetFC net = NetworkOf(spec_, generator_);
  const auto operators = MakeInferenceCopy(spec_, ByOperators(kBatchRows), *cpu_);
  const Fp8Device device;
  const auto fp8 = MakeInferenceCopy(
      spec_, {.precision = Precision::kFp8, .backend = BackendKind::kGpu}, device);
  const double error = ErrorOf(Evaluated(*fp8, net, bytes_), Evaluated(*operators, net, bytes_));
  EXPECT_LT(error, 0.2);   // e4m3 has three binary digits after the first
  EXPECT_GT(error, 1e-4);  // it was not computed in more digits
}

INSTANTIATE_TEST_SUITE_P(
    Every, TensorCopies,
    testing::Combine(testing::Values(Norm::kNone, Norm::kBatch, Norm::kLayer, Norm::kRms),
                     testing::Values(Activation::kRelu, Activation::kLeakyRelu),
                     testing::Values(Layers{"resnet_fc", 0, InputLayer::kHidden},
                                     Layers{"resnet_fc", 48, InputLayer::kHidden},
                                     Layers{"resnet_fc", 0, InputLayer::kLinear},
                                     Layers{"mlp", 48, InputLayer::kHidden})));

TEST(TensorCopy, Fp8WeightsReadFromAFileGiveTheSameEstimates) {
  const NetworkSpec spec{.input = kInput, .layers = {.width = 32, .blocks = 1}, .outputs = 3};
  const Fp8Device device;
  const auto make = [&] {
    return MakeInferenceCopy(spec, {.precision = Precision::kFp8, .backend = BackendKind::kGpu},
                             device);
  };
  const auto written = make();
  const auto read = make();
  at::Generator generator = InitialWeights(/*seed=*/1);
  const at::Tensor bytes =
      at::randint(0, kInput.depth, {kBatchRows, kInput.positions}, generator, at::kByte);
  const at::Tensor expected = Evaluated(*written, ResNetFC(spec, /*seed=*/1), bytes);
  EXPECT_FALSE(Evaluated(*read, ResNetFC(spec, /*seed=*/2), bytes).equal(expected));

  const TempFolder folder;
  WriteTensorFile(folder.path() / "copy", written->State());
  LoadStateDict(ReadTensorFile(folder.path() / "copy").tensors, read->State(), "copy");
  const c10::InferenceMode inference;
  EXPECT_TRUE(read->Forward(bytes).equal(expected));
}

// A run that is resumed on another machine loads its target network so. Neither the features nor
// the widths are multiples of the numbers to which they are padded.
TEST(TensorCopy, StateLoadsIntoTheCopyByOperatorsAndBack) {
  const NetworkSpec spec{
      .input = kInput,
      .layers = {.stem_width = 20, .width = 36, .blocks = 1, .norm = Norm::kBatch},
      .outputs = 3};
  const Fp8Device device;
  at::Generator generator = InitialWeights(/*seed=*/1);
  const ResNetFC net = NetworkOf(spec, generator);
  const ResNetFC other(spec, /*seed=*/2);
  const at::Tensor bytes =
      at::randint(0, kInput.depth, {kBatchRows, kInput.positions}, generator, at::kByte);
  const auto expect_loads = [&](const NetworkCopy& from, NetworkCopy& into,
                                const at::Tensor& expected) {
    EXPECT_FALSE(Evaluated(into, other, bytes).equal(expected));
    const StateDict state = from.State();
    LoadStateDict({state.begin(), state.end()}, into.State(), "copy");
    const c10::InferenceMode inference;
    EXPECT_TRUE(into.Forward(bytes).equal(expected));
  };
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp8}) {
    const auto make = [&](BackendKind backend) -> std::unique_ptr<NetworkCopy> {
      if (backend == BackendKind::kGpu) {
        return MakeTensorCopy(spec, {.precision = precision}, device);
      }
      const Precision stored = precision == Precision::kFp8 ? Precision::kBf16 : precision;
      return MakeOperatorCopy(spec, {.precision = stored}, device.torch(), /*gathers=*/false);
    };
    const auto tensors = make(BackendKind::kGpu);
    const auto operators = make(BackendKind::kReference);
    const at::Tensor by_tensors = Evaluated(*tensors, net, bytes);
    const at::Tensor by_operators = Evaluated(*operators, net, bytes);
    EXPECT_EQ(WeightsSha256(tensors->State()), WeightsSha256(operators->State()));
    expect_loads(*tensors, *make(BackendKind::kReference), by_operators);
    expect_loads(*operators, *make(BackendKind::kGpu), by_tensors);
  }
}

TEST(TensorCopy, RefusesFp8WhereTheDeviceHasNone) {
  const auto cpu = OpenDevice("cpu");
  try {
    MakeInferenceCopy({.input = kInput},
                      {.precision = Precision::kFp8, .backend = BackendKind::kGpu}, *cpu);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("compute capability 8.9"), std::string::npos);
  }
}

TEST(TensorCopy, AByteThatIsNoValueIsAnErrorOnACpu) {
  const NetworkSpec spec{.input = kInput, .layers = {.width = 8, .blocks = 1}};
  const auto device = OpenDevice("cpu");
  const auto copy = MakeTensorCopy(spec, {.precision = Precision::kFp32}, *device);
  copy->Load(ResNetFC(spec, /*seed=*/1));
  const at::Tensor bytes = at::randint(0, kInput.depth, {25, kInput.positions}, at::kByte);
  bytes[24][2] = kInput.depth;
  EXPECT_THROW(copy->Forward(bytes), Error);
}

// While the GPU evaluates a batch, the host takes the results of the batch before it.
TEST(InferenceNet, TakesAResultAfterTheNextBatchHasStarted) {
  RecordingDevice device;
  const NetworkSpec spec{.input = kInput, .layers = {.width = 8, .blocks = 1}};
  InferenceNet net(spec, ByOperators(10), device);
  const ResNetFC weights(spec, /*seed=*/1);
  net.Load(weights);
  const at::Tensor bytes = at::randint(0, kInput.depth, {25, kInput.positions}, at::kByte);
  const auto rows_from = [&](std::size_t first, std::size_t count) {
    return ConstRows(bytes.const_data_ptr<std::uint8_t>() + first * kInput.positions, count,
                     kInput.positions);
  };
  std::vector<float> values(25);
  net.Evaluate(rows_from(0, 25), values);
  std::vector<std::string> order;
  for (const SlotEvent& event : device.recorder.events()) {
    if (event.what.ends_with("result")) {
      order.push_back(event.what + " " + std::to_string(event.slot));
    }
  }
  EXPECT_EQ(order,
            (std::vector<std::string>{"enqueue result 0", "enqueue result 1", "await result 0",
                                      "enqueue result 0", "await result 1", "await result 0"}));
  for (const auto& [first, count] : {std::pair(0, 10), {10, 10}, {20, 5}}) {
    std::vector<float> alone(static_cast<std::size_t>(count));
    net.Evaluate(rows_from(first, alone.size()), alone);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), values.begin() + first)) << first;
  }
}

}  // namespace
}  // namespace tandem
