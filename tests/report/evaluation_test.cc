// Tests how the outcomes of searches are summarised, compared and shown.
#include "report/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::Not;

SolveOutcome Solved(std::int64_t length, std::int64_t nodes, double seconds) {
  return {.solved = true, .length = length, .nodes = nodes, .seconds = seconds};
}

SolveOutcome Unsolved(std::int64_t nodes, double seconds) {
  return {.solved = false, .nodes = nodes, .seconds = seconds};
}

SolveOutcome WithOptimal(SolveOutcome outcome, std::int64_t optimal, double estimate) {
  outcome.optimal = optimal;
  outcome.cost = static_cast<double>(optimal);
  outcome.estimate = estimate;
  return outcome;
}

EvaluatedNetwork Network(const std::string& name, const std::vector<SolveOutcome>& outcomes) {
  EvaluatedNetwork network{.name = name, .file = name + ".pt", .figures = {}};
  network.figures = Summarise(outcomes, 2);
  return network;
}

TEST(Summarise, CountsUnsolvedStatesButNotTheirLengths) {
  const std::vector<SolveOutcome> outcomes = {Solved(4, 10, 0.5), Unsolved(30, 1.25),
                                              Solved(7, 20, 0.25)};
  const SolveFigures figures = Summarise(outcomes, 2.5);
  EXPECT_EQ(figures.states, 3);
  EXPECT_EQ(figures.solved, 2);
  EXPECT_DOUBLE_EQ(figures.solve_rate(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(figures.mean_length, 5.5);
  EXPECT_EQ(figures.nodes, 60);
  EXPECT_DOUBLE_EQ(figures.nodes_per_s(), 24);
  EXPECT_DOUBLE_EQ(figures.mean_s(), 2.5 / 3);
  EXPECT_DOUBLE_EQ(figures.slowest_s, 1.25);
  EXPECT_FALSE(figures.known);
}

TEST(Summarise, MeasuresOnlyStatesWithKnownLengthsAgainstThem) {
  const std::vector<SolveOutcome> outcomes = {WithOptimal(Solved(5, 1, 0), 5, 8),
                                              WithOptimal(Solved(7, 1, 0), 5, 5),
                                              WithOptimal(Unsolved(1, 0), 2, 1), Solved(9, 1, 0)};
  const KnownLengthFigures known = Summarise(outcomes, 1).known.value();
  EXPECT_EQ(known.states, 3);
  EXPECT_EQ(known.optimal, 1);
  EXPECT_DOUBLE_EQ(known.share_optimal(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(known.mean_length, 4);
  ASSERT_TRUE(known.estimates);
  EXPECT_DOUBLE_EQ(known.estimates->error, std::sqrt(10.0 / 3));
  ASSERT_EQ(known.by_length.size(), 2);
  EXPECT_EQ(known.by_length[0].length, 2);
  EXPECT_EQ(known.by_length[0].solved, 0);
  EXPECT_EQ(known.by_length[1].length, 5);
  EXPECT_EQ(known.by_length[1].states, 2);
  ASSERT_TRUE(known.by_length[1].estimates);
  EXPECT_DOUBLE_EQ(known.by_length[1].estimates->mean, 6.5);
  EXPECT_DOUBLE_EQ(known.by_length[1].estimates->error, std::sqrt(4.5));
}

TEST(Summarise, DividesLengthsBySolutionsThatArePublished) {
  const auto with_best_known = [](SolveOutcome outcome, std::int64_t best_known) {
    outcome.best_known = best_known;
    return outcome;
  };
  const std::vector<SolveOutcome> outcomes = {
      with_best_known(Solved(12, 1, 0), 10), with_best_known(Solved(9, 1, 0), 10),
      with_best_known(Unsolved(1, 0), 10), Solved(50, 1, 0)};
  const std::optional<BestKnownFigures> figures = Summarise(outcomes, 1).best_known;
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->states, 2);
  EXPECT_DOUBLE_EQ(figures->mean_ratio, 1.05);
  const EvaluatedNetwork network = Network("last", outcomes);
  EXPECT_THAT(EvaluationTable(std::vector{network}), HasSubstr("x best known"));
  EXPECT_THAT(EvaluationTable(std::vector{network}), HasSubstr("  1.050  "));
  EXPECT_EQ(ToJson(network)["with_best_known"], 2);
  EXPECT_EQ(ToJson(network)["mean_ratio_to_best_known"], 1.05);
}

TEST(Summarise, GivesZerosWithoutOutcomes) {
  const SolveFigures figures = Summarise({}, 0);
  EXPECT_EQ(figures.solve_rate(), 0);
  EXPECT_EQ(figures.mean_length, 0);
  EXPECT_EQ(figures.nodes_per_s(), 0);
  EXPECT_EQ(figures.mean_s(), 0);
}

TEST(BestBySolving, PrefersMoreSolvedThenShorterThenFewerNodesThenTheFirst) {
  const EvaluatedNetwork one = Network("one", {Solved(3, 1, 0), Unsolved(1, 0)});
  const EvaluatedNetwork longer = Network("longer", {Solved(9, 1, 0), Solved(9, 1, 0)});
  const EvaluatedNetwork shorter = Network("shorter", {Solved(8, 50, 0), Solved(9, 50, 0)});
  const EvaluatedNetwork leaner = Network("leaner", {Solved(8, 40, 0), Solved(9, 50, 0)});
  EXPECT_EQ(BestBySolving(std::vector{one, longer}), 1);
  EXPECT_EQ(BestBySolving(std::vector{longer, shorter, one}), 1);
  EXPECT_EQ(BestBySolving(std::vector{shorter, leaner}), 1);
  EXPECT_EQ(BestBySolving(std::vector{leaner, leaner}), 0);
}

TEST(BestBySolving, LeavesOutNetworksThatWereStopped) {
  EvaluatedNetwork stopped = Network("stopped", {Solved(1, 1, 0)});
  stopped.complete = false;
  EXPECT_EQ(BestBySolving(std::vector{stopped, Network("worse", {Unsolved(1, 0)})}), 1);
  EXPECT_EQ(BestBySolving(std::vector{stopped}), std::nullopt);
}

TEST(EvaluationTable, ShowsOptimalColumnsOnlyIfLengthsAreKnown) {
  const EvaluatedNetwork without = Network("last", {Solved(4, 1500, 0.5), Unsolved(500, 0.75)});
  EXPECT_EQ(EvaluationTable(std::vector{without}),
            "network  iterations  solved     %  mean length  nodes  nodes/s  mean s  slowest s\n"
            "last              0  1 of 2  50.0         4.00  2,000    1,000   1.000      0.750\n");
  EXPECT_FALSE(ToJson(without).contains("share_optimal"));
  EXPECT_FALSE(ToJson(without).contains("by_length"));

  const EvaluatedNetwork with = Network("last", {WithOptimal(Solved(4, 1, 0), 4, 6)});
  EXPECT_THAT(EvaluationTable(std::vector{with}), HasSubstr("% optimal  value error"));
  EXPECT_THAT(EvaluationTable(std::vector{with}), HasSubstr("    100.0         2.00  "));
  EXPECT_EQ(ByLengthTable(with.figures),
            "optimal length  states  % solved  mean estimate  value error\n"
            "4                    1     100.0           6.00         2.00\n");
}

TEST(EvaluationTable, OfAPolicyHasNoColumnsOfEstimates) {
  SolveOutcome outcome = Solved(4, 1, 0);
  outcome.optimal = 4;
  const EvaluatedNetwork policy = Network("last", {outcome});
  EXPECT_THAT(EvaluationTable(std::vector{policy}), HasSubstr("% optimal"));
  EXPECT_THAT(EvaluationTable(std::vector{policy}), Not(HasSubstr("value error")));
  EXPECT_EQ(ByLengthTable(policy.figures),
            "optimal length  states  % solved\n"
            "4                    1     100.0\n");
  EXPECT_FALSE(ToJson(policy).contains("value_error"));
  EXPECT_FALSE(ToJson(policy)["by_length"][0].contains("mean_estimate"));
}

TEST(EvaluationTable, OfAGameCountsPositionsWhoseValueIsKeptByStones) {
  std::vector<SolveOutcome> outcomes = {Solved(1, 9, 0), Unsolved(9, 0), Solved(1, 9, 0)};
  for (std::size_t i = 0; i < 3; ++i) outcomes[i].stones = i == 0 ? 30 : 8;
  EvaluatedNetwork network = Network("last", outcomes);
  network.figures.is_game = true;
  EXPECT_THAT(EvaluationTable(std::vector{network}), HasSubstr("kept     %  nodes"));
  EXPECT_EQ(ByLengthTable(network.figures),
            "stones  states  % kept\n"
            "8            2    50.0\n"
            "30           1   100.0\n");
  EXPECT_EQ(ToJson(network)["by_stones"][0],
            (nlohmann::ordered_json{{"stones", 8}, {"states", 2}, {"solved", 1}}));
  EXPECT_TRUE(ToJson(network)["mean_length"].is_null());
  network.figures.by_stones.clear();
  EXPECT_EQ(ByLengthTable(network.figures), "");
}

TEST(EvaluationTable, MarksANetworkThatWasStoppedAndHasNoSolution) {
  EvaluatedNetwork stopped = Network("update 7", {Unsolved(1, 0)});
  stopped.complete = false;
  EXPECT_THAT(EvaluationTable(std::vector{stopped}), HasSubstr("update 7 (stopped)"));
  EXPECT_THAT(EvaluationTable(std::vector{stopped}), HasSubstr("0 of 1  0.0            -"));
  EXPECT_TRUE(ToJson(stopped)["mean_length"].is_null());
}

TEST(EvaluationJson, HasEveryFigure) {
  EvaluatedNetwork network = Network(
      "update 7", {WithOptimal(Solved(4, 30, 0.5), 4, 6), WithOptimal(Solved(4, 50, 0.25), 2, 2)});
  network.iterations = 70;
  network.examples = 7000;
  network.trained_s = 1.5;
  const auto expected = nlohmann::ordered_json::parse(R"({
    "name": "update 7", "file": "update 7.pt", "iterations": 70, "examples": 7000,
    "trained_s": 1.5, "states": 2, "solved": 2, "solve_rate": 1.0, "mean_length": 4.0,
    "nodes": 80, "nodes_per_s": 40.0, "seconds": 2.0, "mean_s": 1.0, "slowest_s": 0.5,
    "with_optimal": 2, "optimal": 1, "share_optimal": 0.5, "mean_optimal": 3.0,
    "value_error": 1.41421, "by_length": [
      {"length": 2, "states": 1, "solved": 1, "mean_estimate": 2.0, "value_error": 0.0},
      {"length": 4, "states": 1, "solved": 1, "mean_estimate": 6.0, "value_error": 2.0}]})");
  EXPECT_EQ(ToJson(network), expected);
  EvaluatedNetwork elsewhere = Network("other/best.safetensors", {Solved(1, 1, 0)});
  EXPECT_TRUE(ToJson(elsewhere)["examples"].is_null());
  EXPECT_TRUE(ToJson(elsewhere)["trained_s"].is_null());
}

TEST(ReadEvaluation, ReturnsWhatEvaluateWrote) {
  const TempFolder temp;
  const std::filesystem::path file = temp.path() / "evaluation.json";
  EvaluatedNetwork known = Network(
      "last", {WithOptimal(Solved(4, 30, 0.5), 4, 6), WithOptimal(Solved(4, 50, 0.25), 2, 2)});
  known.examples = 7000;
  known.trained_s = 1.5;
  EvaluatedNetwork unknown = Network("untrained", {Unsolved(1, 0)});
  unknown.file.clear();
  std::vector<SolveOutcome> outcomes = {Solved(1, 9, 0), Unsolved(9, 0)};
  outcomes[0].stones = 8;
  EvaluatedNetwork game = Network("update 2", outcomes);
  game.figures.is_game = true;
  const nlohmann::ordered_json json = {{"states", "a.jsonl"},
                                       {"search", "beam"},
                                       {"networks", {ToJson(unknown), ToJson(known), ToJson(game)}},
                                       {"best", "last"}};
  WriteFileAtomically(file, json.dump());
  const EvaluationFile read = ReadEvaluation(file);
  EXPECT_EQ(read.states, "a.jsonl");
  EXPECT_EQ(read.search, "beam");
  EXPECT_EQ(read.best, 1U);
  ASSERT_EQ(read.networks.size(), 3U);
  EXPECT_EQ(ToJson(read.networks[0]), ToJson(unknown));
  EXPECT_EQ(ToJson(read.networks[1]), ToJson(known));
  EXPECT_EQ(ToJson(read.networks[2]), ToJson(game));
  EXPECT_TRUE(read.networks[2].figures.is_game);
  EXPECT_EQ(read.networks[1].figures.known->estimates->mean, 4);  // of 6 and 2
}

TEST(ReadEvaluation, ErrorNamesTheFileAndTheMissingEntryOrTheNewerLayout) {
  const TempFolder temp;
  const std::filesystem::path file = temp.path() / "evaluation.json";
  WriteFileAtomically(file, "{\"states\": \"a\"}");
  EXPECT_THAT([&] { ReadEvaluation(file); },
              testing::ThrowsMessage<InputError>(
                  HasSubstr("evaluation.json: expected `search`, a string. Expected a file that")));
  WriteFileAtomically(file, R"({"states": "a", "search": "beam", "networks": [{"name": 3}]})");
  EXPECT_THAT([&] { ReadEvaluation(file); },
              testing::ThrowsMessage<InputError>(
                  HasSubstr("evaluation.json: expected `name` to be a string, found 3. ")));
  WriteFileAtomically(file, "{");
  EXPECT_THAT([&] { ReadEvaluation(file); },
              testing::ThrowsMessage<InputError>(HasSubstr("found invalid JSON at byte ")));
  WriteFileAtomically(
      file, R"({"schema": 2, "states": "a", "search": "beam", "networks": [], "best": null})");
  EXPECT_THAT([&] { ReadEvaluation(file); },
              testing::ThrowsMessage<InputError>(
                  HasSubstr("evaluation.json: its layout has number 2, expected at most 1")));
}

}  // namespace
}  // namespace tandem
