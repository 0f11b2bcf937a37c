#include "generate/supervised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "generate/generator.h"
#include "support/generator_config.h"
#include "support/path_domain.h"
#include "support/roads_domain.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kRows = 600;

// Cities 0 to 4. Action a costs 2 and leads from city n to n - 1; action b costs 7 and leads to
// n - 2, from city 1 to the goal. City 4 has no action b.
RoadsDomain Map() { return RoadsDomain({{0, 0}, {0, 0}, {1, 0}, {2, 1}, {3, 4}}, {2, 7}); }

class Supervised : public testing::Test {
 protected:
  std::string Write(const std::string& text) const {
    const std::filesystem::path path = folder_.path() / "paths.jsonl";
    std::ofstream(path) << text;
    return path.string();
  }

  Config ConfigFor(const std::string& text, Head head, std::int64_t chunk_rows = 64) const {
    return GeneratorConfig({.target = Target::kSupervised,
                            .paths = Write(text),
                            .workers = 2,
                            .chunk_rows = chunk_rows},
                           head);
  }

  static DataBuffer Filled(const Domain& domain, const Config& config,
                           FillRequest request = {.rows = kRows}) {
    const auto generator = MakeGenerator(domain, config, nullptr);
    EXPECT_FALSE(generator->needs_network());
    DataBuffer rows(generator->schema(), static_cast<std::size_t>(request.rows));
    generator->Fill(request, rows, StopSignal());
    return rows;
  }

  // The labels of each city's rows, which must be equal, and the number of its rows.
  static std::map<int, std::vector<float>> LabelsByCity(const DataBuffer& rows) {
    const std::size_t width = rows.schema().columns[kTargetColumn].width;
    std::map<int, std::vector<float>> labels;
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      const auto all = rows.floats(kTargetColumn).subspan(i * width, width);
      const std::vector<float> label(all.begin(), all.end());
      const int city = rows.column(kInputColumn)[i][0];
      EXPECT_EQ(labels.emplace(city, label).first->second, label);
    }
    return labels;
  }

  static double ShareOf(int city, const DataBuffer& rows) {
    return static_cast<double>(std::ranges::count(rows.column(kInputColumn).bytes(), city)) /
           static_cast<double>(rows.rows());
  }

  const RoadsDomain map_ = Map();
  const TempFolder folder_;
};

// 4 -a-> 3 -b-> 1 -a-> 0, with remaining costs 11, 9, 2 and 0.
constexpr const char* kPath = R"({"state": "4", "moves": "a b a"})";

using Labels = std::map<int, std::vector<float>>;

TEST_F(Supervised, VNetLearnsTheRemainingCostOfEveryStateWithTheGoal) {
  const DataBuffer rows = Filled(map_, ConfigFor(kPath, Head::kV));
  EXPECT_EQ(LabelsByCity(rows), (Labels{{4, {11}}, {3, {9}}, {1, {2}}, {0, {0}}}));
  for (const int city : {0, 1, 3, 4}) EXPECT_NEAR(ShareOf(city, rows), 0.25, 0.08) << city;
}

TEST_F(Supervised, QNetLearnsTheRemainingCostOfThePathsAction) {
  const DataBuffer rows = Filled(map_, ConfigFor(kPath, Head::kQ));
  EXPECT_EQ(LabelsByCity(rows), (Labels{{4, {11, 0}}, {3, {0, 9}}, {1, {2, 0}}}));
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const bool takes_b = rows.column(kInputColumn)[i][0] == 3;
    EXPECT_EQ(rows.floats(kWeightColumn)[2 * i], takes_b ? 0 : 1);
    EXPECT_EQ(rows.floats(kWeightColumn)[2 * i + 1], takes_b ? 1 : 0);
  }
}

TEST_F(Supervised, ActionOfThePathIsPartOfTheInputOfHeadQIn) {
  const DataBuffer rows = Filled(map_, ConfigFor(kPath, Head::kQIn));
  EXPECT_EQ(LabelsByCity(rows), (Labels{{4, {11}}, {3, {9}}, {1, {2}}}));
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto input = rows.column(kInputColumn)[i];
    ASSERT_EQ(input.size(), 2U);
    EXPECT_EQ(input[1], input[0] == 3 ? 1 : 0);  // b from city 3, else a
  }
}

TEST_F(Supervised, PolicyLearnsThePathsAction) {
  const DataBuffer rows = Filled(map_, ConfigFor(kPath, Head::kPolicy));
  EXPECT_EQ(LabelsByCity(rows), (Labels{{4, {1, 0}}, {3, {0, 1}}, {1, {1, 0}}}));
  EXPECT_FALSE(HasWeights(rows.schema()));
}

TEST_F(Supervised, ValueAndPolicyLearnBothAndTheGoalHasNoAction) {
  const DataBuffer rows = Filled(map_, ConfigFor(kPath, Head::kVp));
  EXPECT_EQ(LabelsByCity(rows),
            (Labels{{4, {11, 1, 0}}, {3, {9, 0, 1}}, {1, {2, 1, 0}}, {0, {0, 0, 0}}}));
}

TEST_F(Supervised, EachStateIsDrawnInProportionToTheWeightOfItsPath) {
  const DataBuffer rows =
      Filled(map_, ConfigFor("{\"state\": \"1\", \"moves\": [\"a\"], \"weight\": 6}\n"
                             "{\"state\": \"4\", \"moves\": [\"a\", \"a\", \"b\"]}\n",
                             Head::kQ));
  // Weights 6 and 3 times 1.
  EXPECT_NEAR(ShareOf(1, rows), 6.0 / 9, 0.08);
  for (const int city : {2, 3, 4}) EXPECT_NEAR(ShareOf(city, rows), 1.0 / 9, 0.05) << city;
}

TEST_F(Supervised, RowsDependOnSeedAndNumberAndNotOnHowTheyAreSplit) {
  Config config = ConfigFor(kPath, Head::kV, 1000);
  const DataBuffer whole = Filled(map_, config, {.update = 4, .rows = 300});
  const DataBuffer part =
      Filled(map_, ConfigFor(kPath, Head::kV, 7), {.update = 4, .first_row = 45, .rows = 100});
  EXPECT_TRUE(
      std::ranges::equal(part.floats(kTargetColumn), whole.floats(kTargetColumn).subspan(45, 100)));
  config.seed = 9;
  const DataBuffer other = Filled(map_, config, {.update = 4, .rows = 300});
  EXPECT_FALSE(std::ranges::equal(other.floats(kTargetColumn), whole.floats(kTargetColumn)));
}

TEST_F(Supervised, ReadsTheOutputOfSolveAndSkipsUnsolvedStates) {
  const std::vector<SolvedPath> paths = ReadSolvedPaths(
      Write("# solved by tandem\n\n"
            R"({"id": 1, "state": "4", "solved": false, "moves": null, "length": null})"
            "\n"
            R"({"id": 2, "state": "2", "solved": true, "moves": "a a", "length": 2, "cost": 4.0})"
            "\n"
            R"({"id": 3, "state": "0", "solved": true, "moves": "", "length": 0})"
            "\n"),
      map_);
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_THAT(paths[0].start, ElementsAre(2));
  EXPECT_THAT(paths[0].actions, ElementsAre(0, 0));
  EXPECT_EQ(paths[0].weight, 1);
  EXPECT_TRUE(paths[1].actions.empty());
}

TEST_F(Supervised, ErrorNamesFileLineAndWhatIsWrong) {
  const auto expect = [&](const std::string& line, const char* message) {
    const std::string file = Write(std::string(kPath) + "\n" + line + "\n");
    EXPECT_THAT([&] { ReadSolvedPaths(file, map_); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(file + ":2: "), HasSubstr(message))));
  };
  expect("4 a a", "expected a JSON object");
  expect(R"({"state": "4"})", "expected `moves`");
  expect(R"({"state": "4", "moves": 7})", "as one text or as a list of texts");
  expect(R"({"state": "4", "moves": ["a", 1]})", "as one text or as a list of texts");
  expect(R"({"moves": "a"})", "expected `state`");
  expect(R"({"state": "4", "moves": "a x"})", "move 2 is 'x', expected one of a b");
  expect(R"({"state": "4", "moves": "a a"})", "the moves do not lead from the state to a goal");
  expect(R"({"state": "1", "moves": "a a"})", "at a goal after 1 of its 2 moves");
  expect(R"({"state": "4", "moves": "b a"})", "move 1, b, does not apply");
  expect(R"({"state": "1", "moves": "a", "weight": 0})", "`weight` to be a number above 0");
  expect(R"({"state": "1", "moves": "a", "weight": "2"})", "`weight` to be a number above 0");
  expect(R"({"state": "1", "moves": "a", "weight": 1e308})", "at most 1000000, found 1e+308");
}

TEST_F(Supervised, FileWithoutAUsablePathIsAnError) {
  EXPECT_THAT([&] { ReadSolvedPaths(Write("{\"moves\": null}\n"), map_); },
              ThrowsMessage<InputError>(HasSubstr("no solved path found")));
  const std::string file = Write(R"({"state": "0", "moves": ""})");
  EXPECT_THAT([&] { ReadSolvedPaths(file, map_); },
              ThrowsMessage<InputError>(HasSubstr(file + ": no path has a move")));
}

}  // namespace
}  // namespace tandem
