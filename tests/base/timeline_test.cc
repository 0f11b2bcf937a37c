#include "base/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/parallel.h"
#include "base/stopwatch.h"
#include "base/worker.h"

namespace tandem {
namespace {

// Waits until the clock has moved on, and returns by how much, in seconds.
double SpendTime() {
  const Stopwatch watch;
  while (watch.Seconds() < 1e-3) std::this_thread::yield();
  return watch.Seconds();
}

// Spends time in a phase, and returns the least time that the phase has taken, in seconds.
double Take(Phase phase) {
  const Span span(phase);
  return SpendTime();
}

PhaseTimes TimesOf(const Timeline& timeline, const std::string& name) {
  for (const Timeline::TrackTimes& track : timeline.Times()) {
    if (track.name == name) return track.times;
  }
  ADD_FAILURE() << "no track " << name;
  return {};
}

TEST(PhaseTimes, AdditionAndSubtractionCoverAllFields) {
  PhaseTimes a, b;
  a[Phase::kForward] = 1;
  a.wall_s = 2;
  a.synchronize_s = 4;
  b[Phase::kForward] = 8;
  b.wall_s = 16;
  b.synchronize_s = 32;
  PhaseTimes sum = a;
  sum += b;
  EXPECT_EQ(sum[Phase::kForward], 9);
  EXPECT_EQ(sum.wall_s, 18);
  EXPECT_EQ(sum.synchronize_s, 36);
  sum -= a;
  EXPECT_EQ(sum[Phase::kForward], 8);
  EXPECT_EQ(sum.wall_s, 16);
  EXPECT_EQ(sum.synchronize_s, 32);
}

TEST(PhaseTimes, WorkExcludesWaits) {
  PhaseTimes times;
  for (const Phase wait : {Phase::kIdle, Phase::kGpuQueueWait, Phase::kWaitForRows,
                           Phase::kWaitForBatch, Phase::kWaitForChunk, Phase::kWaitForRoom}) {
    EXPECT_TRUE(IsWait(wait)) << PhaseName(wait);
    times[wait] = 1;
  }
  times[Phase::kGpuTransfer] = 3;
  times[Phase::kUnnamed] = 5;
  EXPECT_EQ(times.Sum(), 9);
  EXPECT_EQ(times.Work(), 3);
}

TEST(Span, CountsForTheTrackOfItsThread) {
  Timeline timeline;
  Track& track = timeline.AddMainTrack("main", Phase::kSetUp);
  const double set_up = SpendTime();
  double forward = 0;
  double backward = 0;
  {
    const Attach attach(track);
    forward += Take(Phase::kForward);
    backward += Take(Phase::kBackward);
    forward += Take(Phase::kForward);
  }
  const double idle = SpendTime();
  const PhaseTimes times = track.Times();
  EXPECT_GE(times[Phase::kSetUp], set_up);
  EXPECT_GE(times[Phase::kForward], forward);
  EXPECT_GE(times[Phase::kBackward], backward);
  EXPECT_GE(times[Phase::kIdle], idle);
  EXPECT_NEAR(times.Sum() + times[Phase::kUnnamed], times.wall_s, 1e-6);
  EXPECT_NEAR(times.Work() + times[Phase::kIdle], times.Sum(), 1e-6);
}

TEST(Span, PausesTheEnclosingSpan) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  double inner = 0;
  {
    const Span outer(Phase::kWaitForWorkers);
    inner = Take(Phase::kExpand);
  }
  const PhaseTimes times = track.Times();
  EXPECT_GE(times[Phase::kExpand], inner);
  EXPECT_LE(times[Phase::kWaitForWorkers], times.wall_s - inner);
}

TEST(Span, NestedSpansCountAsValidation) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  double nested = 0;
  {
    const Span outer(Phase::kValidation);
    nested = Take(Phase::kExpand);
  }
  const double after = Take(Phase::kExpand);
  const PhaseTimes times = track.Times();
  EXPECT_GE(times[Phase::kValidation], nested);
  EXPECT_GE(times[Phase::kExpand], after);
  EXPECT_LE(times[Phase::kExpand], times.wall_s - nested);
}

TEST(Span, TimeOutsideSpansIsUnnamed) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  const double outside = SpendTime();
  const PhaseTimes times = track.Times();
  EXPECT_GE(times[Phase::kUnnamed], outside);
  EXPECT_LE(times.Sum(), times.wall_s - outside + 1e-6);
}

TEST(Span, HasNoEffectOnAThreadWithoutATrack) {
  Take(Phase::kForward);
  EXPECT_EQ(Timeline::Current(), nullptr);
  EXPECT_EQ(Timeline::CurrentPhase(), Phase::kUnnamed);
}

TEST(Track, IncludesTheCurrentPhase) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  const Span span(Phase::kForward);
  const double so_far = SpendTime();
  EXPECT_GE(track.Times()[Phase::kForward], so_far);
}

TEST(Track, ReadsAreConsistentDuringWrites) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("busy");
  std::atomic<bool> done{false};
  std::thread writer([&] {
    const Attach attach(track);
    while (!done) {
      const Span outer(Phase::kExpand);
      const Span inner(Phase::kWrite);
    }
  });
  for (int i = 0; i < 10'000; ++i) {
    const PhaseTimes times = track.Times();
    ASSERT_NEAR(times.Sum() + times[Phase::kUnnamed], times.wall_s, 1e-6);
  }
  done = true;
  writer.join();
}

TEST(Track, SynchronizesAfterPhasesThatUseTheDevice) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  int calls = 0;
  double synchronizing = 0;
  track.SynchronizeAfterPhases([&] {
    ++calls;
    synchronizing += SpendTime();
  });
  const Attach attach(track);
  const double forward = Take(Phase::kForward);
  Take(Phase::kReport);
  EXPECT_EQ(calls, 1);
  EXPECT_GE(track.Times()[Phase::kForward], forward + synchronizing);
  EXPECT_GE(track.Times().synchronize_s, synchronizing);
}

TEST(Attach, RestoresThePreviousTrack) {
  Timeline first, second;
  Track& outer = first.NamedTrack("outer");
  Track& inner = second.NamedTrack("inner");
  const Attach attach(outer);
  {
    const Attach nested(inner);
    EXPECT_EQ(Timeline::Current(), &second);
  }
  EXPECT_EQ(Timeline::Current(), &first);
  { const Attach same(outer); }
  EXPECT_EQ(Timeline::Current(), &first);
}

TEST(Worker, HasATrackInTheTimelineOfItsCreator) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  double gather = 0;
  {
    Worker worker("helper");
    worker.Post([&] { gather = Take(Phase::kGather); }).get();
    // The track becomes idle soon after the task's result is there.
    const double idle = TimesOf(timeline, "helper")[Phase::kIdle];
    while (TimesOf(timeline, "helper")[Phase::kIdle] < idle + 1e-3) std::this_thread::yield();
  }
  const PhaseTimes times = TimesOf(timeline, "helper");
  EXPECT_GE(times[Phase::kGather], gather);
  EXPECT_NEAR(times.Sum() + times[Phase::kUnnamed], times.wall_s, 1e-6);
}

std::vector<TraceEvent> EventsOf(const Timeline& timeline, const std::string& name) {
  for (const Timeline::TrackEvents& track : timeline.Events()) {
    if (track.name == name) return track.events;
  }
  return {};
}

TEST(Record, KeepsScopesInTheOrderOfTheirEnds) {
  Timeline timeline;
  const Attach attach(timeline.NamedTrack("main"));
  Take(Phase::kForward);
  timeline.Record(true);
  double backward = 0;
  {
    const Section update("update", 7);
    backward = Take(Phase::kBackward);
    StartArrow("rows", 7);
  }
  const Section open("update", 8);
  timeline.Record(false);
  Take(Phase::kForward);

  const std::vector<TraceEvent> events = EventsOf(timeline, "main");
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].name, "backward");
  EXPECT_GE(std::chrono::duration<double>(events[0].end - events[0].begin).count(), backward);
  EXPECT_EQ(events[1].kind, TraceEvent::Kind::kArrowStart);
  EXPECT_EQ(events[2].name, "update");
  EXPECT_EQ(events[2].number, 7);
  EXPECT_LE(events[2].begin, events[0].begin);
  EXPECT_LE(events[0].end, events[1].begin);
  EXPECT_LE(events[1].end, events[2].end);
}

TEST(Record, EventsCanBeReadDuringRecording) {
  Timeline timeline;
  timeline.Record(true);
  constexpr std::int64_t kEvents = 5'000;  // several blocks
  std::thread writer([&] {
    const Attach attach(timeline.NamedTrack("busy"));
    for (std::int64_t i = 0; i < kEvents; ++i) const Section section("iteration", i);
  });
  std::size_t seen = 0;
  while (seen < kEvents) {
    const std::vector<TraceEvent> events = EventsOf(timeline, "busy");
    ASSERT_GE(events.size(), seen);
    seen = events.size();
    for (std::size_t i = 0; i < seen; ++i) ASSERT_EQ(events[i].number, std::int64_t(i));
  }
  writer.join();
}

class CountingListener final : public RangeListener {
 public:
  void Begin(std::string_view name) override { open_.emplace_back(name); }
  void End() override { open_.pop_back(); }
  std::vector<std::string> open_;
};

TEST(Record, CallsTheListenerAtBeginAndEnd) {
  Timeline timeline;
  CountingListener listener;
  const Attach attach(timeline.NamedTrack("main"));
  timeline.Record(true, &listener);
  {
    const Section update("update", 0);
    const Span forward(Phase::kForward);
    EXPECT_EQ(listener.open_, (std::vector<std::string>{"update", "forward"}));
    timeline.Record(false);  // open scopes still call End
    const Span unrecorded(Phase::kBackward);
    EXPECT_EQ(listener.open_.size(), 2U);
  }
  EXPECT_TRUE(listener.open_.empty());
}

// Ranges run on the calling thread or on workers. Each counts as the caller's phase.
TEST(ForRanges, RangesCountAsTheCallersPhase) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  std::atomic<int> ranges{0};
  PhaseTimes all;
  {
    const Attach attach(track);
    const Span span(Phase::kWrite);
    ForRanges(40, 1, [&](std::size_t, std::size_t) {
      SpendTime();
      ++ranges;
    });
  }
  for (const auto& one : timeline.Times()) {
    EXPECT_EQ(one.is_worker, one.name != "main");
    EXPECT_GE(one.times.Sum(), 0.9 * one.times.wall_s) << one.name;
    all += one.times;
  }
  EXPECT_GT(ranges, 0);
  EXPECT_GE(all[Phase::kWrite], 1e-3 * ranges);
}

TEST(ForRanges, LaterTimelineGetsItsOwnTracks) {
  for (int run = 0; run < 3; ++run) {
    Timeline timeline;
    Track& track = timeline.NamedTrack("main");
    const Attach attach(track);
    const Span span(Phase::kExpand);
    ForRanges(20, 1, [&](std::size_t, std::size_t) {
      EXPECT_EQ(Timeline::Current(), &timeline);
      EXPECT_EQ(Timeline::CurrentPhase(), Phase::kExpand);
    });
    EXPECT_LE(timeline.Times().size(), 1 + std::thread::hardware_concurrency());
  }
}

TEST(Timeline, NamedTrackIsReused) {
  Timeline timeline;
  Track& first = timeline.NamedTrack("generator");
  EXPECT_EQ(&timeline.NamedTrack("generator"), &first);
  EXPECT_NE(&timeline.NamedTrack("prefetch"), &first);
  Track& worker = timeline.WorkerTrack();
  EXPECT_NE(&timeline.NamedTrack(worker.name()), &worker);
  EXPECT_EQ(timeline.Times().size(), 4U);
  Timeline another;
  EXPECT_EQ(&another.WorkerTrack().timeline(), &another);
}

}  // namespace
}  // namespace tandem
