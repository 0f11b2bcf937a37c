// Compares permuting rows on a real GPU with the CPU. Skipped, with the reason, without a GPU.
#include "domain/permute.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "nn/device.h"
#include "tandem/error.h"
#include "tandem/permutation.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

class CudaPermute : public testing::Test {
 protected:
  static constexpr std::size_t kMargin = 64;
  static constexpr std::uint8_t kMark = 0xA5;

  void SetUp() override {
    try {
      device_ = OpenDevice("cuda");
    } catch (const InputError& error) {
      GTEST_SKIP() << error.what();
    }
    if (device_->passes() == nullptr) GTEST_SKIP() << "no kernels for this GPU";
    stream_scope_ = device_->MakeStream()->Enter();
  }

  static cudaStream_t Stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

  // Copies bytes to the GPU, after the work in the stream.
  at::Tensor ToGpu(const void* bytes, std::size_t count) const {
    const auto size = static_cast<std::int64_t>(count);
    at::Tensor on_gpu =
        at::empty({size}, at::TensorOptions().dtype(at::kByte).device(device_->torch()));
    cudaMemcpyAsync(on_gpu.data_ptr(), bytes, count, cudaMemcpyHostToDevice, Stream());
    return on_gpu;
  }

  static std::vector<std::uint8_t> ToHost(const at::Tensor& on_gpu) {
    std::vector<std::uint8_t> bytes(on_gpu.nbytes());
    cudaMemcpyAsync(bytes.data(), on_gpu.const_data_ptr(), bytes.size(), cudaMemcpyDeviceToHost,
                    Stream());
    EXPECT_EQ(cudaStreamSynchronize(Stream()), cudaSuccess);
    return bytes;
  }

  // The `count` rows of `positions` bytes that begin at byte `begin` of `bytes`.
  static at::Tensor RowsAt(const at::Tensor& bytes, std::size_t begin, std::size_t count,
                           std::size_t positions) {
    return bytes
        .narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count * positions))
        .view({static_cast<std::int64_t>(count), static_cast<std::int64_t>(positions)});
  }

  // Random rows between margins. They are not aligned to words if `offset` is not a multiple of 4.
  void Check(const PermutationTable& table, std::size_t rows, std::size_t offset) const {
    const std::unique_ptr<RowPermuter> on_gpu = device_->MakePermuter(table);
    const std::size_t positions = table.positions();
    const std::size_t begin = kMargin + offset;
    Random random(rows * 1000 + positions, Purpose::kShuffle);
    std::vector<std::uint8_t> states(begin + rows * positions + kMargin, kMark);
    const Rows inner(states.data() + begin, rows, positions);
    for (std::uint8_t& byte : inner.bytes()) byte = static_cast<std::uint8_t>(random.Next());

    std::vector<Action> actions(rows);
    for (Action& action : actions) action = static_cast<Action>(random.Below(table.num_actions()));
    std::vector<std::uint8_t> expected = states;
    table.Apply({expected.data() + begin, rows, positions}, actions);
    const at::Tensor applied = ToGpu(states.data(), states.size());
    const at::Tensor chosen = ToGpu(actions.data(), rows * sizeof(Action));
    on_gpu->Apply(RowsAt(applied, begin, rows, positions), chosen.view(at::kShort));
    ASSERT_EQ(ToHost(applied), expected);

    const std::size_t count = rows * table.num_actions();
    std::vector<std::uint8_t> children(begin + count * positions + kMargin, kMark);
    const at::Tensor parents = ToGpu(states.data(), states.size());
    const at::Tensor expanded = ToGpu(children.data(), children.size());
    table.Expand(inner, {children.data() + begin, count, positions});
    on_gpu->Expand(RowsAt(parents, begin, rows, positions),
                   RowsAt(expanded, begin, count, positions));
    ASSERT_EQ(ToHost(expanded), children);
    ASSERT_EQ(ToHost(parents), states);
  }

  // The states at every place of a few walks, between margins.
  void CheckWalks(const PermutationTable& table) const {
    constexpr std::size_t kSteps = 20;
    constexpr std::size_t kWalks = 301;
    const std::size_t positions = table.positions();
    Random random(positions, Purpose::kShuffle);
    std::vector<std::int32_t> actions(kSteps * kWalks);
    for (std::int32_t& action : actions) {
      action = static_cast<std::int32_t>(random.Below(table.num_actions()));
    }
    std::vector<std::int64_t> places((kSteps + 1) * kWalks);
    std::iota(places.begin(), places.end(), std::int64_t{0});

    std::vector<std::uint8_t> states(kMargin + places.size() * positions + kMargin, kMark);
    const at::Tensor walked = ToGpu(states.data(), states.size());
    const auto after = [&](std::size_t steps) {
      return Rows(states.data() + kMargin + steps * kWalks * positions, kWalks, positions);
    };
    for (std::size_t walk = 0; walk < kWalks; ++walk) {
      std::iota(after(0)[walk].begin(), after(0)[walk].end(), std::uint8_t{0});
    }
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::ranges::copy(after(step).bytes(), after(step + 1).bytes().begin());
      const auto first = actions.begin() + static_cast<std::ptrdiff_t>(step * kWalks);
      table.Apply(after(step + 1), std::vector<Action>(first, first + kWalks));
    }

    const at::Tensor chosen = ToGpu(actions.data(), actions.size() * sizeof(actions[0]));
    const at::Tensor wanted = ToGpu(places.data(), places.size() * sizeof(places[0]));
    const std::unique_ptr<RowPermuter> on_gpu = device_->MakePermuter(table);
    on_gpu->Walk(chosen.view(at::kInt).view({kSteps, kWalks}), wanted.view(at::kLong),
                 RowsAt(walked, kMargin, places.size(), positions));
    ASSERT_EQ(ToHost(walked), states);
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<StreamScope> stream_scope_;
};

TEST_F(CudaPermute, EveryPermutationPuzzleMatchesTheCpu) {
  for (const char* name :
       {"cube2", "cube2_htm", "cube3", "cube3_htm", "permutation:cube4", "permutation:lrx",
        "permutation:megaminx", "permutation:pyraminx", "permutation:topspin"}) {
    const auto domain = MakeDomain(name);
    const auto& puzzle = dynamic_cast<const PermutationDomain&>(*domain);
    for (const std::size_t rows : {0, 1, 7, 33, 1001, 20'003}) {
      for (const std::size_t offset : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message() << name << ", " << rows << " rows, offset " << offset);
        ASSERT_NO_FATAL_FAILURE(Check(puzzle.table(), rows, offset));
      }
    }
    SCOPED_TRACE(name);
    ASSERT_NO_FATAL_FAILURE(CheckWalks(puzzle.table()));
  }
}

TEST_F(CudaPermute, RowsMayHaveAnyLength) {
  for (std::size_t positions = 1; positions <= 256; ++positions) {
    Random random(positions, Purpose::kShuffle);
    std::vector<Permutation> permutations(3, Permutation(positions));
    for (Permutation& permutation : permutations) {
      std::iota(permutation.begin(), permutation.end(), std::uint8_t{0});
      for (std::size_t i = positions; i-- > 1;) {
        std::swap(permutation[i], permutation[random.Below(i + 1)]);
      }
    }
    SCOPED_TRACE(testing::Message() << "rows of " << positions << " bytes");
    const PermutationTable table(permutations);
    ASSERT_NO_FATAL_FAILURE(Check(table, 301, positions % 4));
    ASSERT_NO_FATAL_FAILURE(CheckWalks(table));
  }
}

TEST_F(CudaPermute, WorkRunsInStreamOrder) {
  const auto domain = MakeDomain("cube3");
  const auto& table = dynamic_cast<const PermutationDomain&>(*domain).table();
  const std::unique_ptr<RowPermuter> on_gpu = device_->MakePermuter(table);
  constexpr std::size_t kRows = 100'000;
  std::vector<std::uint8_t> states(kRows * 54);
  domain->WriteGoals({states.data(), kRows, 54});
  const at::Tensor cubes = ToGpu(states.data(), states.size());
  for (int turn = 0; turn < 20; ++turn) {  // four equal quarter turns cancel
    const std::vector<Action> actions(kRows, static_cast<Action>(turn / 4));
    const at::Tensor chosen = ToGpu(actions.data(), kRows * sizeof(Action));
    on_gpu->Apply(RowsAt(cubes, 0, kRows, 54), chosen.view(at::kShort));
  }
  EXPECT_EQ(ToHost(cubes), states);
}

}  // namespace
}  // namespace tandem
