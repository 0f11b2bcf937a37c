// Compares generation by tensor operations with generation by the puzzle's code.
#include <gtest/gtest.h>

#include <cmath>

#include "data/examples.h"
#include "nn/device.h"
#include "nn/network.h"
#include "support/device_with_kernel.h"
#include "support/generator_config.h"
#include "support/small_puzzles.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tensor/tensor_programs.h"

namespace tandem {
namespace {

State BytesOf(ConstRows rows) { return {rows.bytes().begin(), rows.bytes().end()}; }

class TensorGeneratorTest : public testing::TestWithParam<bool> {
 protected:
  static Config ConfigFor(Target target, std::int64_t chunk_rows = 100) {
    Config config = GeneratorConfig(
        {.target = target, .max_scramble = 9, .workers = 2, .chunk_rows = chunk_rows});
    config.network.width = 32;
    config.network.blocks = 1;
    config.inference = {.batch_size = 512,
                        .threads = 1,
                        .precision = Precision::kFp32,
                        .backend = BackendKind::kReference};
    config.seed = 5;
    return config;
  }

  // Fills rows of both generators, and compares inputs and labels.
  void Compare(const Domain& domain, const Config& config, const FillRequest& request) {
    const NetworkSpec spec = NetworkFor(config.network, domain.spec());
    InferenceNet net(spec, config.inference, *device_);
    net.Load(*MakeNetwork(spec, 1));
    const auto of_domain = MakeGenerator(domain, config, &net);
    const auto of_tensors = MakeTensorGenerator(domain, config, &net, *device_);
    ASSERT_EQ(of_tensors->schema(), of_domain->schema());
    ASSERT_EQ(of_tensors->needs_network(), of_domain->needs_network());
    DataBuffer expected(of_domain->schema(), static_cast<std::size_t>(request.rows));
    DataBuffer rows = of_tensors->MakeBuffer(static_cast<std::size_t>(request.rows));
    EXPECT_EQ(rows.memory(), Memory::kDevice);
    of_domain->Fill(request, expected, StopSignal());
    of_tensors->Fill(request, rows, StopSignal());
    ASSERT_EQ(BytesOf(rows.column(kInputColumn)), BytesOf(expected.column(kInputColumn)));
    const auto labels = expected.floats(kTargetColumn);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (of_domain->needs_network()) {
        ASSERT_NEAR(rows.floats(kTargetColumn)[i], labels[i], 1e-5) << i;
      } else {
        ASSERT_EQ(rows.floats(kTargetColumn)[i], labels[i]) << i;
      }
    }
  }

  const std::unique_ptr<Device> device_ = OpenCpu(GetParam());
};

TEST_P(TensorGeneratorTest, WalksAndTheirCostsEqualThoseOfTheDomain) {
  const Config config = ConfigFor(Target::kWalkLength);
  for (const char* name : {"cube3", "cube3:pieces", "cube2"}) {
    const auto domain = MakeDomain(name);
    Compare(*domain, config, {.update = 3, .rows = 900});
  }
}

TEST_P(TensorGeneratorTest, AnyRangeOfRowsIsTheSameAsOfTheDomain) {
  const PancakeDomain pancakes(6, /*action_cost=*/0.3F);  // whose sums are rounded
  for (const std::int64_t chunk_rows : {1, 100, 4096}) {
    const Config config = ConfigFor(Target::kWalkLength, chunk_rows);
    Compare(pancakes, config, {.update = 1, .first_row = 14, .rows = 333});
    Compare(pancakes, config, {.update = 1, .first_row = 9, .rows = 1});
  }
}

TEST_P(TensorGeneratorTest, FewRowsOfAWalkAreThoseOfTheDomain) {
  const PancakeDomain pancakes(6, /*action_cost=*/0.3F);
  for (const std::int64_t chunk_rows : {1, 100, 4096}) {
    Config config = ConfigFor(Target::kWalkLength, chunk_rows);
    config.generate.rows_per_walk = 4;
    Compare(pancakes, config, {.update = 1, .first_row = 14, .rows = 333});
    Compare(pancakes, config, {.update = 1, .first_row = 7, .rows = 1});
  }
}

TEST_P(TensorGeneratorTest, ValueIterationLabelsAgreeUpToRounding) {
  const auto cube = MakeDomain("cube3");
  for (const Target target : {Target::kValueIteration, Target::kCappedValueIteration}) {
    Compare(*cube, ConfigFor(target), {.update = 2, .rows = 250});
    Compare(*cube, ConfigFor(target), {.update = 2, .first_row = 40, .rows = 77});
    Compare(*cube, ConfigFor(target), {.update = 2, .rows = 77, .longest_scramble = 3});
  }
}

TEST_P(TensorGeneratorTest, FillsHostMemoryToo) {
  const PancakeDomain pancakes(5);
  const Config config = ConfigFor(Target::kWalkLength);
  const auto generator = MakeTensorGenerator(pancakes, config, nullptr, *device_);
  DataBuffer on_device = generator->MakeBuffer(90);
  DataBuffer on_host(generator->schema(), 90);
  generator->Fill({.rows = 90}, on_device, StopSignal());
  generator->Fill({.rows = 90}, on_host, StopSignal());
  EXPECT_EQ(BytesOf(on_host.column(kInputColumn)), BytesOf(on_device.column(kInputColumn)));
}

TEST_P(TensorGeneratorTest, StopsBetweenChunks) {
  const PancakeDomain pancakes(5);
  const auto generator =
      MakeTensorGenerator(pancakes, ConfigFor(Target::kWalkLength), nullptr, *device_);
  DataBuffer rows = generator->MakeBuffer(1000);
  StopSignal stop;
  stop.Request();
  EXPECT_THROW(generator->Fill({.rows = 1000}, rows, stop), Stopped);
}

TEST_P(TensorGeneratorTest, ReportsEstimatesThatAreNotNumbers) {
  const PancakeDomain pancakes(5);
  const Config config = ConfigFor(Target::kValueIteration);
  const NetworkSpec spec = NetworkFor(config.network, pancakes.spec());
  InferenceNet net(spec, config.inference, *device_);
  net.Load(*MakeNetwork(spec, 1));
  for (const auto& [name, weight] : net.State()) weight.fill_(std::nanf(""));
  const auto generator = MakeTensorGenerator(pancakes, config, &net, *device_);
  DataBuffer rows = generator->MakeBuffer(100);
  try {
    generator->Fill({.update = 7, .rows = 100}, rows, StopSignal());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the rows of update 7"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, TensorGeneratorTest, testing::Bool(), NameOfDevice);

}  // namespace
}  // namespace tandem
