// Tests the CUDA device on a real GPU. Without a GPU the tests are skipped, with the reason.
#include <ATen/TensorOperators.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/examples.h"
#include "domain/random_walks.h"
#include "loaders/loader.h"
#include "loaders/shard_loader.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "nn/resnet_fc.h"
#include "ranks/ranks.h"
#include "support/by_operators.h"
#include "support/example_sets.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tensor/tensor_programs.h"
#include "train/train_run.h"

namespace tandem {
namespace {

// Gate stops the current stream. Work that is enqueued after it begins when the gate is opened or
// destroyed.
class Gate {
 public:
  Gate() : stream_(c10::cuda::getCurrentCUDAStream()) {
    C10_CUDA_CHECK(cudaLaunchHostFunc(stream_.stream(), &Wait, &opened_));
  }
  ~Gate() {
    Open();
    stream_.synchronize();  // the stream uses opened_ until then
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void Open() {
    if (!std::exchange(is_open_, true)) open_.set_value();
  }

 private:
  static void Wait(void* opened) { static_cast<std::future<void>*>(opened)->wait(); }

  const c10::cuda::CUDAStream stream_;
  std::promise<void> open_;
  std::future<void> opened_ = open_.get_future();
  bool is_open_ = false;
};

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = OpenDevice("cuda");
    } catch (const InputError& error) {
      GTEST_SKIP() << error.what();
    }
    scope_ = device_->MainStream()->Enter();
  }

  // Enqueues about 20 ms of matrix products on the current stream.
  void KeepTheGpuBusy() const {
    at::Tensor x = at::randn({4096, 4096}, at::TensorOptions().device(device_->torch()));
    for (int i = 0; i < 10; ++i) x = at::matmul(x, x).mul_(1e-3);
  }

  Config ConfigOf(const std::vector<std::string>& sets) const {
    return ConfigWith(
        "generate: {target: value_iteration, max_scramble: 8, chunk_rows: 300}\n"
        "network: {width: 64, blocks: 1, norm: batch}\n"
        "train: {batch_size: 100, iterations_per_update: 10, max_updates: 6}\n",
        sets, *device_);
  }

  RunSummary Run(const std::vector<std::string>& sets) const {
    return TrainToTheEnd(ConfigOf(sets), device_);
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<StreamScope> scope_;
};

TEST_F(Cuda, CopiesRunInParallelWithComputation) {
  const auto slots = device_->MakeSlots(2, {{.type = at::kByte, .sizes = {10'000, 54}}}, {});
  // While the main stream is busy with batch n...
  std::memset(slots[0]->host(0).data(), 1, slots[0]->host(0).size());
  slots[0]->EnqueueCopy();
  slots[0]->AwaitCopy();
  std::future<void> copied;
  Gate gate;
  at::cuda::CUDAEvent computed;
  computed.record(c10::cuda::getCurrentCUDAStream());
  // ... the copy of batch n + 1 begins and ends.
  std::memset(slots[1]->host(0).data(), 2, slots[1]->host(0).size());
  copied = std::async(std::launch::async, [&] {
    slots[1]->EnqueueCopy();
    slots[1]->AwaitHost();
  });
  EXPECT_EQ(copied.wait_for(std::chrono::minutes(1)), std::future_status::ready)
      << "the copy waits for the computation";
  EXPECT_FALSE(computed.query());
  gate.Open();
  copied.get();
  slots[1]->AwaitCopy();
  EXPECT_EQ(slots[1]->device(0).min().item<int>(), 2);
}

TEST_F(Cuda, ACopyWaitsForTheLastUseOfItsMemory) {
  const auto slots = device_->MakeSlots(1, {{.type = at::kByte, .sizes = {1000, 54}}}, {});
  std::memset(slots[0]->host(0).data(), 1, slots[0]->host(0).size());
  slots[0]->EnqueueCopy();
  slots[0]->AwaitCopy();
  KeepTheGpuBusy();
  const at::Tensor seen = slots[0]->device(0).clone();  // reads it late
  slots[0]->Release();
  slots[0]->AwaitHost();
  std::memset(slots[0]->host(0).data(), 9, slots[0]->host(0).size());
  slots[0]->EnqueueCopy();
  EXPECT_EQ(seen.max().item<int>(), 1);
}

TEST_F(Cuda, PrefetchHandsOutEveryRowUnderLoad) {
  const Schema schema{.columns = {{.name = "input", .type = ElementType::kUint8, .width = 54},
                                  {.name = "target", .type = ElementType::kFloat32, .width = 1}}};
  constexpr std::size_t kRows = 20'000;
  DataBuffer rows(schema, kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    rows.floats(kTargetColumn)[i] = static_cast<float>(i);
    std::ranges::fill(rows.column(kInputColumn)[i], static_cast<std::uint8_t>(i % 251));
  }
  BufferLoader loader(*device_, schema, /*batch_size=*/500, {.depth = 2}, /*seed=*/1);
  for (std::int64_t update = 0; update < 3; ++update) {
    const auto source = loader.Open(rows, update);
    // Nothing is read back before the end, so the GPU falls behind and only events keep the order.
    std::vector<at::Tensor> right, sums;
    for (std::size_t n = 0; n < kRows / 500; ++n) {
      const Batch batch = source->Next();
      if (n % 8 == 0) KeepTheGpuBusy();
      right.push_back(
          (batch.inputs.select(1, 53) == batch.targets.squeeze(1).remainder(251)).all());
      sums.push_back(batch.targets.to(at::kDouble).sum());
    }
    double sum = 0;
    for (const at::Tensor& part : sums) sum += part.item<double>();
    EXPECT_EQ(sum, static_cast<double>(kRows) * (kRows - 1) / 2);
    for (const at::Tensor& all_right : right) EXPECT_TRUE(all_right.item<bool>());
  }
}

TEST_F(Cuda, EvaluatesLikeTheCpu) {
  const NetworkSpec spec{
      .input = {.positions = 54, .depth = 6},
      .layers = {.stem_width = 128, .width = 64, .blocks = 2, .norm = Norm::kBatch}};
  const ResNetFC net(spec, 1);
  const auto cpu = OpenDevice("cpu");
  const at::Tensor rows = at::randint(0, 6, {1000, 54}, at::kByte);
  const ConstRows inputs(rows.const_data_ptr<std::uint8_t>(), 1000, 54);
  std::vector<std::vector<float>> values;
  for (Device* device : {cpu.get(), device_.get()}) {
    InferenceNet copy(spec, ByOperators(300), *device);
    copy.Load(net);
    copy.Evaluate(inputs, values.emplace_back(1000));
  }
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_NEAR(values[0][i], values[1][i], 2e-3);
}

TEST_F(Cuda, TrainingHasItsOwnStream) {
  const auto current = c10::cuda::getCurrentCUDAStream();
  EXPECT_NE(current, c10::cuda::getDefaultCUDAStream());
  const auto same = device_->MainStream()->Enter();
  EXPECT_EQ(c10::cuda::getCurrentCUDAStream(), current);
  for (int i = 0; i < 100; ++i) {  // more than the streams of a pool
    const auto other = device_->MakeStream()->Enter();
    EXPECT_NE(c10::cuda::getCurrentCUDAStream(), current);
  }
}

TEST_F(Cuda, AnEvaluationWaitsForTheLastLoad) {
  const NetworkSpec spec{.input = {.positions = 54, .depth = 6},
                         .layers = {.width = 64, .blocks = 1, .norm = Norm::kBatch}};
  ResNetFC net(spec, 1);
  net.To(device_->torch());
  InferenceNet copy(spec, ByOperators(100), *device_);
  const at::Tensor rows = at::randint(0, 6, {100, 54}, at::kByte);
  const ConstRows inputs(rows.const_data_ptr<std::uint8_t>(), 100, 54);
  std::vector<float> values(100);
  const c10::NoGradGuard no_grad;
  net.layers().back()->weight.zero_();
  for (const double estimate : {1.0, 2.0, 3.0}) {
    KeepTheGpuBusy();
    net.layers().back()->bias.fill_(estimate);
    copy.Load(net);  // runs late, on the main stream; the evaluation uses another
    copy.Evaluate(inputs, values);
    EXPECT_EQ(values, std::vector<float>(100, static_cast<float>(estimate)));
  }
}

TEST_F(Cuda, AsyncEqualsSequentialWithLagOne) {
  const std::string async = Run({"pipeline.mode=async"}).weights_sha256;
  EXPECT_EQ(async, Run({"pipeline.mode=sequential", "pipeline.policy_lag=1"}).weights_sha256);
  EXPECT_NE(async, Run({"pipeline.mode=sequential", "pipeline.policy_lag=0"}).weights_sha256);
}

TEST_F(Cuda, AsyncEqualsSequentialWithStepsByTensorPrograms) {
  if (device_->passes() == nullptr) GTEST_SKIP() << "no kernels for this GPU";
  std::vector<std::string> precisions = {"inference.precision=auto"};
  if (device_->has_fp8()) precisions.emplace_back("inference.precision=fp8");
  for (const std::string& precision : precisions) {
    const auto weights = [&](std::vector<std::string> sets) {
      sets.insert(sets.end(), {"backend=gpu", precision});
      return Run(sets).weights_sha256;
    };
    EXPECT_EQ(weights({"pipeline.mode=async"}),
              weights({"pipeline.mode=sequential", "pipeline.policy_lag=1"}))
        << precision;
  }
}

// Without a copy stream, the prefetching thread enqueues copies on the stream that is captured.
TEST_F(Cuda, AsyncCapturesStepsWithoutACopyStream) {
  if (device_->passes() == nullptr) GTEST_SKIP() << "no kernels for this GPU";
  EXPECT_EQ(Run({"backend=gpu", "prefetch.copy_stream=false"}).weights_sha256,
            Run({"backend=gpu"}).weights_sha256);
}

// After each update, the writing thread copies a checkpoint from the GPU while training goes on.
TEST_F(Cuda, ARunThatWasStoppedEndsWithTheSameWeights) {
  const std::vector<std::string> sets = {"validation.every_updates=2", "validation.states=16",
                                         "checkpoint.every_updates=1"};
  const TempFolder folder;
  const std::filesystem::path path = folder.path() / "run";
  {
    const StopSignal never;
    TrainRun run(ConfigOf(sets),
                 {.device = device_, .directory = RunDirectory::Create(path), .stop = never});
    StopAfter(run, /*iterations=*/25);
    EXPECT_EQ(ToTheEnd(run).end, RunEnd::kStopped);
  }
  EXPECT_EQ(ResumeRun(path, device_).weights_sha256, Run(sets).weights_sha256);
}

// NCCL reduces gradients of backend gpu where they are, and a copy of those of `reference`.
TEST_F(Cuda, OneRankEndsWithTheWeightsOfAPlainRun) {
  Ranks ranks({.host = "127.0.0.1", .port = 0});  // 0: any free port
  ranks.UseDevice(*device_);
  const StopSignal never;
  for (const char* backend : {"gpu", "reference"}) {
    const std::vector<std::string> sets = {std::string("backend=") + backend};
    TrainRun run(ConfigOf(sets), {.device = device_, .stop = never, .ranks = &ranks});
    EXPECT_EQ(ToTheEnd(run).weights_sha256, Run(sets).weights_sha256) << backend;
  }
}

TEST_F(Cuda, RejectsAGpuThatDoesNotExist) { EXPECT_THROW(OpenDevice("cuda:99"), InputError); }

TEST_F(Cuda, BatchesFromShardsEqualThoseOfTheCpu) {
  const TempFolder folder;
  MakeShards(folder.path());
  const auto cpu = OpenDevice("cpu");
  constexpr int kDepth = 9;  // of the input of the 8-puzzle
  Config config;
  config.data.source = DataSource::kShards;
  config.train.batch_size = 90;
  ShardLoader on_gpu(*device_, ShardSet(folder.path()), kDepth, config, std::nullopt);
  ShardLoader on_cpu(*cpu, ShardSet(folder.path()), kDepth, config, std::nullopt);
  for (int i = 0; i < 60; ++i) {
    if (i % 20 == 0) KeepTheGpuBusy();
    const Batch batch = on_gpu.Next(/*update=*/0).value(), same = on_cpu.Next(/*update=*/0).value();
    ASSERT_TRUE(batch.inputs.cpu().equal(same.inputs)) << "batch " << i;
    ASSERT_TRUE(batch.targets.cpu().equal(same.targets)) << "batch " << i;
  }
}

TEST_F(Cuda, TensorProgramOfWalksGivesTheWeightsOfTheDomainsCode) {
  EXPECT_EQ(Run({"generate.target=walk_length", "generate.program=tensor"}).weights_sha256,
            Run({"generate.target=walk_length", "generate.program=domain"}).weights_sha256);
}

TEST_F(Cuda, TensorProgramOfValueIterationTrainsInBothModesAlike) {
  const auto weights = [this](const std::string& mode) {
    return Run({"generate.program=tensor", "pipeline.policy_lag=1", "pipeline.mode=" + mode})
        .weights_sha256;
  };
  EXPECT_EQ(weights("async"), weights("sequential"));
}

TEST_F(Cuda, BeamSearchByTensorOperationsFindsShallowSolutions) {
  const auto cube = MakeDomain("cube3:pieces");
  Config config;
  config.inference = ByOperators(512);
  config.search = {.program = Program::kTensor, .beam_width = 2000, .max_length = 4};
  const NetworkSpec spec = NetworkFor(config.network, cube->spec());
  InferenceNet net(spec, config.inference, *device_);
  const std::unique_ptr<Network> network = MakeNetwork(spec, 1);
  network->To(device_->torch());
  net.Load(*network);
  const auto search = MakeTensorBeamSearch(*cube, net, config, *device_);
  for (std::uint64_t number = 0; number < 5; ++number) {
    std::vector<std::uint8_t> start(54);
    WalkFromGoal(*cube, Random(1, Purpose::kScramble, 0, number), 3, start);
    const SearchResult result = search->Solve(start, StopSignal());
    ASSERT_TRUE(result.solved);
    ApplyAll(*cube, result.actions, start);
    EXPECT_TRUE(IsGoal(*cube, start));
  }
}

}  // namespace
}  // namespace tandem
