// Tests when the threads of a run worked, from metrics and from a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "report/report_page.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

constexpr double kTolerance = 1e-9;

UpdatePoint EndsAt(double seconds) {
  UpdatePoint point;
  point.seconds = seconds;
  return point;
}

// Two updates, which end after 10 and 20 seconds.
RunRecord TwoUpdates() {
  RunRecord run;
  run.curve = {EndsAt(10), EndsAt(20)};
  run.fills = {{.begin = 0, .end = 4}, {.begin = 8, .end = 13}};
  run.trainings = {{.begin = 4, .end = 10}, {.begin = 13, .end = 20}};
  return run;
}

TEST(BusyChart, SplitsAFillThatSpansTwoUpdates) {
  const Chart chart = BusyChart(TwoUpdates());
  ASSERT_EQ(chart.series.size(), 2U);
  const std::vector<Point>& generating = chart.series[0].points;
  const std::vector<Point>& training = chart.series[1].points;
  ASSERT_EQ(generating.size(), 2U);
  EXPECT_NEAR(generating[0].y, 60, kTolerance);  // 0 to 4 and 8 to 10
  EXPECT_NEAR(generating[1].y, 30, kTolerance);  // 10 to 13
  EXPECT_NEAR(training[0].y, 60, kTolerance);
  EXPECT_NEAR(training[1].y, 70, kTolerance);
  EXPECT_EQ(generating[1].x, 2);
}

TEST(Overlap, CountsOnlyWhatIsInsideTheWindow) {
  const std::vector<Interval> intervals = {{.begin = 1, .end = 3}, {.begin = 5, .end = 9}};
  EXPECT_NEAR(Overlap(intervals, {.begin = 2, .end = 6}), 2, kTolerance);
  EXPECT_EQ(Overlap(intervals, {.begin = 3, .end = 5}), 0);
  EXPECT_EQ(Overlap(intervals, {.begin = 9, .end = 20}), 0);
  EXPECT_EQ(Overlap({}, {.begin = 0, .end = 20}), 0);
}

TEST(TimelineOf, ShowsTheLastUpdates) {
  const RunTimeline timeline = TimelineOf(TwoUpdates(), 1);
  EXPECT_EQ(timeline.shown.begin, 8);
  EXPECT_EQ(timeline.shown.end, 20);
  ASSERT_EQ(timeline.lanes.size(), 2U);
  EXPECT_EQ(timeline.lanes[0].name, "generator");
  EXPECT_EQ(timeline.lanes[0].work.size(), 1U);
  EXPECT_EQ(TimelineOf(TwoUpdates(), 5).shown.begin, 0);
  EXPECT_TRUE(TimelineOf(RunRecord(), 5).lanes.empty());
}

json Span(const char* name, int thread, double from, double to) {
  return {{"name", name},  {"ph", "X"},        {"pid", 1},
          {"tid", thread}, {"ts", 1e6 * from}, {"dur", 1e6 * (to - from)}};
}

json ThreadName(const char* name, int thread) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 1},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

class TraceTest : public testing::Test {
 protected:
  RunTimeline Read(const json& events) {
    const auto file = temp_.path() / "trace.json";
    WriteFileAtomically(file, json({{"traceEvents", events}}).dump());
    return ReadTrace(file);
  }

  const TempFolder temp_;
};

TEST_F(TraceTest, InnermostSpansCount) {
  const RunTimeline timeline =
      Read({ThreadName("main", 1), ThreadName("idle thread", 2), Span("update", 1, 0, 10),
            Span("wait_for_rows", 1, 0, 4), Span("forward", 1, 4, 7), Span("backward", 1, 7, 10)});
  ASSERT_EQ(timeline.lanes.size(), 1U);  // the idle thread has nothing to show
  const Lane& main = timeline.lanes[0];
  EXPECT_EQ(main.name, "main");
  ASSERT_EQ(main.work.size(), 2U);  // forward and backward are both training, so they are joined
  EXPECT_EQ(main.work[0].kind, WorkKind::kWait);
  EXPECT_NEAR(main.work[0].when.end, 4, kTolerance);
  EXPECT_EQ(main.work[1].kind, WorkKind::kTrain);
  EXPECT_NEAR(main.work[1].when.begin, 4, kTolerance);
  EXPECT_NEAR(main.work[1].when.end, 10, kTolerance);
}

TEST_F(TraceTest, TraceWithoutSpansHasNoLanes) { EXPECT_TRUE(Read(json::array()).lanes.empty()); }

TEST_F(TraceTest, FileThatIsNotATraceIsNamed) {
  const auto file = temp_.path() / "trace.json";
  WriteFileAtomically(file, "{\"a\": 1}");
  EXPECT_THAT([&] { ReadTrace(file); },
              ThrowsMessage<InputError>(HasSubstr("trace.json: not a trace")));
}

TEST(LaneElement, DrawsOnlyWhatIsShown) {
  const Lane lane{.name = "a < b",
                  .work = {{.when = {.begin = 0, .end = 2}, .kind = WorkKind::kTrain},
                           {.when = {.begin = 5, .end = 9}, .kind = WorkKind::kWait}}};
  const std::string element = LaneElement(lane, {.begin = 5, .end = 10});
  EXPECT_THAT(element, HasSubstr("aria-label=\"a &lt; b\""));
  EXPECT_THAT(element, HasSubstr("x=\"0.0\" y=\"0.0\" width=\"800.0\""));
  EXPECT_THAT(element, HasSubstr("<title>waiting</title>"));
  EXPECT_THAT(element, Not(HasSubstr("training")));
}

}  // namespace
}  // namespace tandem
