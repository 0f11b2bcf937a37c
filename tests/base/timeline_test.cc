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

// Spends time in an activity, and returns the least time that the activity has taken, in seconds.
double Take(Activity activity) {
  const Span span(activity);
  return SpendTime();
}

ActivityTimes TimesOf(const Timeline& timeline, const std::string& name) {
  for (const Track* track : timeline.Tracks()) {
    if (track->name() == name) return track->Times();
  }
  ADD_FAILURE() << "no track " << name;
  return {};
}

TEST(ActivityTimes, AdditionAndSubtractionCoverAllFields) {
  ActivityTimes a, b;
  a[Activity::kForward] = 1;
  a.wall_s = 2;
  a.synchronize_s = 4;
  b[Activity::kForward] = 8;
  b.wall_s = 16;
  b.synchronize_s = 32;
  ActivityTimes sum = a;
  sum += b;
  EXPECT_EQ(sum[Activity::kForward], 9);
  EXPECT_EQ(sum.wall_s, 18);
  EXPECT_EQ(sum.synchronize_s, 36);
  sum -= a;
  EXPECT_EQ(sum[Activity::kForward], 8);
  EXPECT_EQ(sum.wall_s, 16);
  EXPECT_EQ(sum.synchronize_s, 32);
}

TEST(ActivityTimes, WorkExcludesWaits) {
  ActivityTimes times;
  for (const Activity wait :
       {Activity::kIdle, Activity::kGpuQueueWait, Activity::kWaitForRows, Activity::kWaitForBatch,
        Activity::kWaitForChunk, Activity::kWaitForRoom}) {
    EXPECT_TRUE(IsWait(wait)) << ActivityName(wait);
    times[wait] = 1;
  }
  times[Activity::kGpuTransfer] = 3;
  times[Activity::kUnnamed] = 5;
  EXPECT_EQ(times.Sum(), 9);
  EXPECT_EQ(times.Work(), 3);
}

TEST(Span, CountsForTheTrackOfItsThread) {
  Timeline timeline;
  Track& track = timeline.AddMainTrack("main", Activity::kSetUp);
  const double set_up = SpendTime();
  double forward = 0;
  double backward = 0;
  {
    const Attach attach(track);
    forward += Take(Activity::kForward);
    backward += Take(Activity::kBackward);
    forward += Take(Activity::kForward);
  }
  const double idle = SpendTime();
  const ActivityTimes times = track.Times();
  EXPECT_GE(times[Activity::kSetUp], set_up);
  EXPECT_GE(times[Activity::kForward], forward);
  EXPECT_GE(times[Activity::kBackward], backward);
  EXPECT_GE(times[Activity::kIdle], idle);
  EXPECT_NEAR(times.Sum() + times[Activity::kUnnamed], times.wall_s, 1e-6);
  EXPECT_NEAR(times.Work() + times[Activity::kIdle], times.Sum(), 1e-6);
}

TEST(Span, PausesTheEnclosingSpan) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  double inner = 0;
  {
    const Span outer(Activity::kWaitForWorkers);
    inner = Take(Activity::kExpand);
  }
  const ActivityTimes times = track.Times();
  EXPECT_GE(times[Activity::kExpand], inner);
  EXPECT_LE(times[Activity::kWaitForWorkers], times.wall_s - inner);
}

TEST(Span, NestedSpansCountAsValidation) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  double nested = 0;
  {
    const Span outer(Activity::kValidation);
    nested = Take(Activity::kExpand);
  }
  const double after = Take(Activity::kExpand);
  const ActivityTimes times = track.Times();
  EXPECT_GE(times[Activity::kValidation], nested);
  EXPECT_GE(times[Activity::kExpand], after);
  EXPECT_LE(times[Activity::kExpand], times.wall_s - nested);
}

TEST(Span, TimeOutsideSpansIsUnnamed) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  const double outside = SpendTime();
  const ActivityTimes times = track.Times();
  EXPECT_GE(times[Activity::kUnnamed], outside);
  EXPECT_LE(times.Sum(), times.wall_s - outside + 1e-6);
}

TEST(Span, HasNoEffectOnAThreadWithoutATrack) {
  Take(Activity::kForward);
  EXPECT_EQ(Timeline::Current(), nullptr);
  EXPECT_EQ(Timeline::CurrentActivity(), Activity::kUnnamed);
}

TEST(Track, IncludesTheCurrentActivity) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  const Span span(Activity::kForward);
  const double so_far = SpendTime();
  EXPECT_GE(track.Times()[Activity::kForward], so_far);
}

TEST(Track, ReadsAreConsistentDuringWrites) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("busy");
  std::atomic<bool> done{false};
  std::thread writer([&] {
    const Attach attach(track);
    while (!done) {
      const Span outer(Activity::kExpand);
      const Span inner(Activity::kWrite);
    }
  });
  for (int i = 0; i < 10'000; ++i) {
    const ActivityTimes times = track.Times();
    ASSERT_NEAR(times.Sum() + times[Activity::kUnnamed], times.wall_s, 1e-6);
  }
  done = true;
  writer.join();
}

TEST(Track, SynchronizesAfterActivitiesThatUseTheDevice) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  int calls = 0;
  double synchronizing = 0;
  track.SynchronizeAfterActivities([&] {
    ++calls;
    synchronizing += SpendTime();
  });
  const Attach attach(track);
  const double forward = Take(Activity::kForward);
  Take(Activity::kReport);
  EXPECT_EQ(calls, 1);
  EXPECT_GE(track.Times()[Activity::kForward], forward + synchronizing);
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
    worker.Post([&] { gather = Take(Activity::kGather); }).get();
    // The track becomes idle soon after the task's result is there.
    const double idle = TimesOf(timeline, "helper")[Activity::kIdle];
    while (TimesOf(timeline, "helper")[Activity::kIdle] < idle + 1e-3) std::this_thread::yield();
  }
  const ActivityTimes times = TimesOf(timeline, "helper");
  EXPECT_GE(times[Activity::kGather], gather);
  EXPECT_NEAR(times.Sum() + times[Activity::kUnnamed], times.wall_s, 1e-6);
}

std::vector<TraceEvent> EventsOf(const Timeline& timeline, const std::string& name) {
  for (const Track* track : timeline.Tracks()) {
    if (track->name() == name) return track->Events();
  }
  return {};
}

TEST(Record, KeepsScopesInTheOrderOfTheirEnds) {
  Timeline timeline;
  const Attach attach(timeline.NamedTrack("main"));
  Take(Activity::kForward);
  timeline.Record(true);
  double backward = 0;
  {
    const Section update("update", 7);
    backward = Take(Activity::kBackward);
    StartArrow("rows", 7);
  }
  const Section open("update", 8);
  timeline.Record(false);
  Take(Activity::kForward);

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

// Ranges run on the calling thread or on workers. Each counts as the caller's activity.
TEST(ForRanges, RangesCountAsTheCallersActivity) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  std::atomic<int> ranges{0};
  ActivityTimes all;
  {
    const Attach attach(track);
    const Span span(Activity::kWrite);
    ForRanges(40, 1, [&](std::size_t, std::size_t) {
      SpendTime();
      ++ranges;
    });
  }
  for (const Track* one : timeline.Tracks()) {
    const ActivityTimes times = one->Times();
    EXPECT_EQ(one->is_worker(), one->name() != "main");
    EXPECT_GE(times.Sum(), 0.9 * times.wall_s) << one->name();
    all += times;
  }
  EXPECT_GT(ranges, 0);
  EXPECT_GE(all[Activity::kWrite], 1e-3 * ranges);
}

TEST(ForRanges, LaterTimelineGetsItsOwnTracks) {
  for (int run = 0; run < 3; ++run) {
    Timeline timeline;
    Track& track = timeline.NamedTrack("main");
    const Attach attach(track);
    const Span span(Activity::kExpand);
    ForRanges(20, 1, [&](std::size_t, std::size_t) {
      EXPECT_EQ(Timeline::Current(), &timeline);
      EXPECT_EQ(Timeline::CurrentActivity(), Activity::kExpand);
    });
    EXPECT_LE(timeline.Tracks().size(), 1 + std::thread::hardware_concurrency());
  }
}

TEST(Timeline, NamedTrackIsReused) {
  Timeline timeline;
  Track& first = timeline.NamedTrack("generator");
  EXPECT_EQ(&timeline.NamedTrack("generator"), &first);
  EXPECT_NE(&timeline.NamedTrack("prefetch"), &first);
  Track& worker = timeline.WorkerTrack();
  EXPECT_NE(&timeline.NamedTrack(worker.name()), &worker);
  EXPECT_EQ(timeline.Tracks().size(), 4U);
  Timeline another;
  EXPECT_EQ(&another.WorkerTrack().timeline(), &another);
}

}  // namespace
}  // namespace tandem
