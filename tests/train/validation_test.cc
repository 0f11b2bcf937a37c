#include "train/validation.h"

#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "nn/device.h"
#include "nn/resnet_fc.h"
#include "support/small_run.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Validation : public testing::Test {
 protected:
  Config MakeConfig(const std::vector<std::string>& sets) const {
    return ConfigWith(
        "domain: {name: npuzzle, size: 3}\n"
        "network: {width: 32, blocks: 1}\n"
        "generate: {max_scramble: 7}\n"
        "inference: {precision: fp32}\n"
        "validation: {states: 50}\n",
        sets, *device_);
  }

  ValidationReport Validate(const std::vector<std::string>& sets) const {
    const Config config = MakeConfig(sets);
    const auto domain = MakeDomain(config.domain.full_name());
    const NetworkSpec spec = NetworkFor(config.network, domain->spec());
    Validator validator(*domain, spec, *device_, config);
    return validator.Validate(ResNetFC(spec, 1), StopSignal());
  }

  std::string Write(const std::string& text) const {
    const std::filesystem::path path = temp_.path() / "states.jsonl";
    std::ofstream(path) << text;
    return path.string();
  }

  const TempFolder temp_;
  const std::shared_ptr<Device> device_ = OpenDevice("cpu");
};

TEST_F(Validation, ReportsTheErrorOfEachLength) {
  const ValidationReport report = Validate({});
  // 50 states: 8 of length 1 and 7 of each other
  ASSERT_EQ(report.value_error_by_length.size(), 7);
  double sum = 8 * std::pow(report.value_error_by_length.at(1), 2);
  for (std::int64_t length = 2; length <= 7; ++length) {
    sum += 7 * std::pow(report.value_error_by_length.at(length), 2);
  }
  EXPECT_NEAR(report.value_error.value(), std::sqrt(sum / 50), 1e-9);
  EXPECT_GT(report.solve_rate, 0);  // one move from the goal, the goal is found
  EXPECT_LT(report.solve_rate, 1);
}

TEST_F(Validation, ReportsTheSolveRateOfEachLength) {
  const ValidationReport report = Validate({});
  ASSERT_EQ(report.solve_rate_by_length.size(), 7);
  EXPECT_EQ(report.solve_rate_by_length.at(1), 1);  // one move from the goal
  double solved = 8 * report.solve_rate_by_length.at(1);
  for (std::int64_t length = 2; length <= 7; ++length) {
    solved += 7 * report.solve_rate_by_length.at(length);
  }
  EXPECT_NEAR(report.solve_rate, solved / 50, 1e-9);
}

// A beam that drops no state within seven moves of the goal finds every way back.
TEST_F(Validation, BeamsSolveWhatGreedyDescentDoesNot) {
  for (const std::string head : {"v", "q", "policy"}) {
    const std::vector<std::string> sets = {
        "network.head=" + head,
        "generate.target=" + std::string(head == "policy" ? "policy" : "walk_length")};
    std::vector<std::string> with_beam = sets;
    with_beam.emplace_back("validation.beam_width=500");
    const ValidationReport greedy = Validate(sets);
    const ValidationReport beam = Validate(with_beam);
    EXPECT_LT(greedy.solve_rate, 1);
    EXPECT_EQ(beam.solve_rate, 1);
    EXPECT_EQ(beam.value_error, greedy.value_error);
  }
}

TEST_F(Validation, FewStatesAreSpreadOverAllLengths) {
  const ValidationReport report = Validate({"generate.max_scramble=26", "validation.states=5"});
  std::vector<std::int64_t> lengths;
  for (const auto& [length, error] : report.value_error_by_length) lengths.push_back(length);
  EXPECT_THAT(lengths, ElementsAre(5, 10, 15, 20, 26));
}

TEST_F(Validation, DoesNotDependOnPrefetch) {
  const ValidationReport report = Validate({});
  for (const char* set : {"prefetch.enabled=false", "prefetch.depth=5"}) {
    const ValidationReport other = Validate({set});
    EXPECT_EQ(other.solve_rate, report.solve_rate) << set;
    EXPECT_NEAR(other.value_error.value(), report.value_error.value(), 1e-5) << set;
  }
}

TEST_F(Validation, PolicyHasASolveRateAndNoErrors) {
  const ValidationReport report = Validate({"network.head=policy", "generate.target=policy"});
  EXPECT_GT(report.solve_rate, 0);
  EXPECT_LT(report.solve_rate, 1);
  EXPECT_FALSE(report.value_error.has_value());
  EXPECT_TRUE(report.value_error_by_length.empty());
  EXPECT_EQ(report.solve_rate_by_length.size(), 7);
}

TEST_F(Validation, ValueAndPolicyIsMeasuredByItsValue) {
  const Config config = MakeConfig({"network.head=vp"});
  const auto domain = MakeDomain(config.domain.full_name());
  const NetworkSpec spec = NetworkFor(config.network, domain->spec());
  ResNetFC net(spec, 1);
  {
    const c10::NoGradGuard no_grad;  // the estimate of every state becomes 2
    net.layers().back()->weight.zero_();
    net.layers().back()->bias.fill_(-9);
    net.layers().back()->bias.narrow(0, 0, 1).fill_(2);
  }
  Validator validator(*domain, spec, *device_, config);
  const ValidationReport report = validator.Validate(net, StopSignal());
  ASSERT_EQ(report.value_error_by_length.size(), 7);
  for (const auto& [length, error] : report.value_error_by_length) {
    EXPECT_NEAR(error, std::abs(static_cast<double>(length) - 2), 1e-5);
  }
}

TEST_F(Validation, ReadsStatesFromAFile) {
  const std::string file = Write(
      "{\"id\": 1, \"state\": \"1 2 3 4 5 6 7 0 8\", \"optimal\": 1}\n"
      "{\"id\": 2, \"state\": \"8 6 7 2 5 4 3 0 1\", \"optimal\": 31}\n");
  const ValidationReport report = Validate({"validation.file=" + file});
  EXPECT_EQ(report.value_error_by_length.size(), 2);
  EXPECT_TRUE(report.value_error_by_length.contains(1));
  EXPECT_TRUE(report.value_error_by_length.contains(31));
  EXPECT_EQ(report.states, 2);  // the config asks for 50
}

TEST_F(Validation, FileOfAPuzzleWhoseMovesDifferInCostHasNoErrors) {
  const std::string file =
      Write("{\"state\": \"#####\\n#@ .#\\n#   #\\n#   #\\n#####\", \"optimal\": 2}\n");
  const std::vector<std::string> grid = {"domain.name=grid", "domain.size=5"};
  EXPECT_TRUE(Validate(grid).value_error);  // random walks know their costs
  const ValidationReport report = Validate({grid[0], grid[1], "validation.file=" + file});
  EXPECT_EQ(report.states, 1);
  EXPECT_FALSE(report.value_error);
}

TEST_F(Validation, ErrorNamesWhatTheFileLacks) {
  const auto expect = [&](const std::string& text, const char* message) {
    const std::string file = Write(text);
    EXPECT_THAT([&] { Validate({"validation.file=" + file}); },
                ThrowsMessage<InputError>(HasSubstr(message)));
  };
  expect("{\"id\": 7, \"state\": \"1 2 3 4 5 6 7 0 8\"}\n", "the state 7 has no `optimal`");
  expect("{\"state\": \"1 2 3\", \"optimal\": 1}\n", "states.jsonl:1: ");
}

TEST_F(Validation, ErrorOfABeamThatIsTooWideNamesItsKey) {
  Config config = MakeConfig({});
  config.validation.beam_width = std::int64_t{1} << 31;
  const auto domain = MakeDomain(config.domain.full_name());
  const NetworkSpec spec = NetworkFor(config.network, domain->spec());
  EXPECT_THAT(
      [&] { Validator(*domain, spec, *device_, config); },
      ThrowsMessage<InputError>(HasSubstr(
          "validation.beam_width: 2147483648, expected at most 1073741823 with 4 actions")));
}

}  // namespace
}  // namespace tandem
