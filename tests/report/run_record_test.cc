// Tests reading the results of a run from its folder.
#include "report/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;

// All numbers differ, so that a mix-up of two entries fails the test.
json Summary() {
  return {{"updates", 2},
          {"examples", 6000},
          {"final_loss", 0.25},
          {"weights_sha256", "abc"},
          {"after_cold_start",
           {{"wall_s", 10.5},
            {"generate_critical_s", 6.5},
            {"train_critical_s", 7.5},
            {"core_s", 18.5},
            {"cores", 4},
            {"idle_workers", 0.375},
            {"idle_main", 0.125}}},
          {"validation", nullptr}};
}

json Update(int number) {
  return {{"update", number},
          {"iterations", 30 + number},
          {"examples", 3000 + number},
          {"elapsed_s", 5.0 * (number + 1)},
          {"loss", 0.5 - 0.25 * number},
          {"lag_updates", number},
          {"generate_began_s", number},
          {"generate_s", 2.5},
          {"train_began_s", 3.0 + number},
          {"train_s", 1.5}};
}

class RunRecordTest : public testing::Test {
 protected:
  RunRecord Read(const json& summary, const std::vector<json>& updates) {
    WriteFileAtomically(temp_.path() / "summary.json", summary.dump());
    std::string lines;
    for (const json& update : updates) lines += update.dump() + "\n";
    WriteFileAtomically(temp_.path() / "metrics.jsonl", lines);
    return ReadRun(temp_.path());
  }

  std::string ErrorOf(const json& summary, const std::vector<json>& updates) {
    try {
      Read(summary, updates);
      return "nothing was thrown";
    } catch (const InputError& error) {
      return error.what();
    }
  }

  const TempFolder temp_;
};

TEST_F(RunRecordTest, ReadsTheSummary) {
  const RunRecord run = Read(Summary(), {Update(0)});
  EXPECT_EQ(run.updates, 2);
  EXPECT_EQ(run.examples, 6000);
  EXPECT_EQ(run.final_loss, 0.25);
  EXPECT_EQ(run.weights_sha256, "abc");
  EXPECT_EQ(run.seconds, 10.5);
  EXPECT_EQ(run.generate_critical_s, 6.5);
  EXPECT_EQ(run.train_critical_s, 7.5);
  EXPECT_EQ(run.core_s, 18.5);
  EXPECT_EQ(run.cores, 4);
  EXPECT_EQ(run.idle_workers, 0.375);
  EXPECT_EQ(run.idle_main, 0.125);
  EXPECT_FALSE(run.gpu_s);
  json on_gpu = Summary();
  on_gpu["after_cold_start"]["gpu_s"] = 3.5;
  EXPECT_EQ(Read(on_gpu, {Update(0)}).gpu_s, 3.5);
}

TEST_F(RunRecordTest, RejectsNumbersThatDoNotFit) {
  json update = Update(0);
  update["iterations"] = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(ErrorOf(Summary(), {update}),
              HasSubstr("metrics.jsonl:1: expected `iterations` to be a whole number from 0 to"));
  update["iterations"] = 1e99;
  EXPECT_THAT(ErrorOf(Summary(), {update}), HasSubstr("expected `iterations`"));
  update = Update(0);
  update["value_error_by_length"] = {{"99999999999999999999", 1.0}};
  EXPECT_THAT(ErrorOf(Summary(), {update}),
              HasSubstr("`value_error_by_length` has '99999999999999999999', expected a length"));
}

TEST_F(RunRecordTest, RejectsASummaryOfANewerVersion) {
  json summary = Summary();
  summary["schema"] = 1;
  EXPECT_EQ(Read(summary, {Update(0)}).updates, 2);
  summary["schema"] = 2;
  EXPECT_THAT(ErrorOf(summary, {Update(0)}),
              HasSubstr("summary.json: its layout has number 2, expected at most 1"));
}

TEST_F(RunRecordTest, ReadsEveryUpdate) {
  const RunRecord run = Read(Summary(), {Update(0), Update(1), Update(2)});
  ASSERT_EQ(run.curve.size(), 3U);
  EXPECT_EQ(run.curve[2].iterations, 30 + 31 + 32);
  EXPECT_EQ(run.curve[2].seconds, 15);
  EXPECT_EQ(run.curve[1].loss, 0.25);
  EXPECT_EQ(run.lag_updates, 1);  // the mean of 0, 1 and 2
  EXPECT_EQ(run.fills[1].begin, 1);
  EXPECT_EQ(run.fills[1].end, 3.5);
  EXPECT_EQ(run.trainings[1].begin, 4);
  EXPECT_EQ(run.trainings[1].end, 5.5);
}

TEST_F(RunRecordTest, ReadsSolveRatesOfValidatedUpdates) {
  json first = Update(0);
  first["solve_rate"] = 0.25;
  EXPECT_EQ(Read(Summary(), {first, Update(1)}).curve[0].solve_rate, 0.25);
  EXPECT_FALSE(Read(Summary(), {first, Update(1)}).curve[1].solve_rate);
  json validated = Summary();
  validated["validation"] = {{"solve_rate", 0.75}};
  const RunRecord run = Read(validated, {first, Update(1)});
  EXPECT_EQ(run.curve[0].solve_rate, 0.25);
  EXPECT_EQ(run.curve[1].solve_rate, 0.75);  // the validation at the end
}

TEST_F(RunRecordTest, ErrorNamesTheFileAndTheMissingEntry) {
  EXPECT_THAT(ErrorOf("summary", {Update(0)}), HasSubstr("summary.json: "));
  EXPECT_THAT(ErrorOf(json::object(), {Update(0)}),
              EndsWith("summary.json: expected `updates`, a whole number"));
  json wrong = Summary();
  wrong["after_cold_start"]["wall_s"] = "long";
  EXPECT_THAT(ErrorOf(wrong, {Update(0)}),
              EndsWith("summary.json: expected `wall_s` to be a number, found \"long\""));
  wrong["after_cold_start"] = nullptr;
  EXPECT_THAT(ErrorOf(wrong, {Update(0)}),
              EndsWith("summary.json: expected `after_cold_start` to be an object, found null"));
  json incomplete = Update(1);
  incomplete.erase("loss");
  EXPECT_THAT(ErrorOf(Summary(), {Update(0), incomplete}),
              EndsWith("metrics.jsonl:2: expected `loss`, a number"));
  EXPECT_THAT(ErrorOf(Summary(), {}), HasSubstr("metrics.jsonl: no updates found"));
  Read(Summary(), {Update(0)});
  WriteFileAtomically(temp_.path() / "metrics.jsonl", Update(0).dump() + "\n{\"iterations\": 3");
  EXPECT_EQ(ReadRun(temp_.path()).curve.size(), 1);  // the half-written line is left out
}

TEST_F(RunRecordTest, LeavesOutALineThatDoesNotMatchItsHash) {
  Read(Summary(), {Update(0)});
  const std::string first = WithHash(Update(0));
  std::string second = WithHash(Update(1));
  second.replace(second.find("3001"), 4, "3003");
  const std::string third = WithHash(Update(2));
  WriteFileAtomically(temp_.path() / "metrics.jsonl", first + "\n" + second + "\n" + third + "\n");
  testing::internal::CaptureStderr();
  const RunRecord run = ReadRun(temp_.path());
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("metrics.jsonl:2: expected the line's hash to match; the line is left out"));
  ASSERT_EQ(run.curve.size(), 2U);
  // The update that is missing counts as one like that of the next line.
  EXPECT_EQ(run.curve[1].update, 2);
  EXPECT_EQ(run.curve[1].iterations, 30 + 32 + 32);
  EXPECT_EQ(run.curve[1].examples, 3000 + 3002 + 3002);
}

TEST_F(RunRecordTest, ErrorNamesAnUpdateThatComesTwice) {
  EXPECT_THAT(ErrorOf(Summary(), {Update(0), Update(1), Update(1)}),
              HasSubstr("metrics.jsonl:3: `update` is 1, expected more than 1"));
}

TEST_F(RunRecordTest, CountsTheTimeOfTheCoresOfAllRanks) {
  json summary = Summary();
  EXPECT_EQ(Read(summary, {Update(0)}).core_s, 18.5);
  summary["ranks"] = {{"world_size", 2}};
  EXPECT_EQ(Read(summary, {Update(0)}).core_s, 37);
}

TEST_F(RunRecordTest, UpdatesOfARunThatHasNotFinishedLeaveOutTheLineThatIsBeingWritten) {
  json validated = Update(0);
  validated["walk_length_error_by_length"] = {{"10", 3.5}, {"2", 1.5}};
  WriteFileAtomically(temp_.path() / "metrics.jsonl",
                      validated.dump() + "\n" + Update(1).dump() + "\n{\"iter");
  const RunRecord run = ReadUpdates(temp_.path() / "metrics.jsonl");
  ASSERT_EQ(run.curve.size(), 2U);
  EXPECT_EQ(run.curve[1].examples, 6001);
  EXPECT_EQ(run.trainings.size(), 2U);
  using Errors = std::vector<std::pair<std::int64_t, double>>;
  EXPECT_EQ(run.curve[0].error_by_length, (Errors{{2, 1.5}, {10, 3.5}}));  // by number, not by text
  EXPECT_TRUE(run.curve[1].error_by_length.empty());
}

TEST(ReadCurve, SumsIterationsAndExamplesAndIgnoresALineThatIsBeingWritten) {
  const TempFolder temp;
  json validated = Update(1);
  validated.update({{"solve_rate", 0.5}, {"walk_length_error", 1.5}});
  WriteFileAtomically(temp.path() / "metrics.jsonl",
                      Update(0).dump() + "\n" + validated.dump() + "\n{\"upd");
  const std::vector<UpdatePoint> curve = ReadCurve(temp.path() / "metrics.jsonl");
  ASSERT_EQ(curve.size(), 2);
  EXPECT_EQ(curve[1].iterations, 61);
  EXPECT_EQ(curve[1].examples, 6001);
  EXPECT_EQ(curve[1].seconds, 10);
  EXPECT_EQ(curve[0].solve_rate, std::nullopt);
  EXPECT_EQ(curve[1].solve_rate, 0.5);
  EXPECT_EQ(curve[1].walk_length_error, 1.5);
  EXPECT_EQ(curve[1].value_error, std::nullopt);
  EXPECT_TRUE(ReadCurve(temp.path() / "none.jsonl").empty());
}

// A pipe that nobody writes would block forever.
TEST(ReadCurve, RejectsAPipe) {
  const TempFolder temp;
  const fs::path pipe = temp.path() / "metrics.jsonl";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT([&] { ReadCurve(pipe); },
              testing::ThrowsMessage<InputError>(HasSubstr("metrics.jsonl: it is a pipe")));
}

}  // namespace
}  // namespace tandem
