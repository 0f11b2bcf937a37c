#include "base/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/parallel.h"
#include "base/worker.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;

void Take(Phase phase, int ms) {
  const Span span(phase);
  std::this_thread::sleep_for(milliseconds(ms));
}

PhaseTimes TimesOf(const Timeline& timeline, const std::string& name) {
  for (const Timeline::TrackTimes& track : timeline.Times()) {
    if (track.name == name) return track.times;
  }
  ADD_FAILURE() << "no track " << name;
  return {};
}

TEST(Span, CountsForTheTrackOfItsThread) {
  Timeline timeline;
  Track& track = timeline.AddMainTrack("main", Phase::kSetUp);
  std::this_thread::sleep_for(milliseconds(5));
  {
    const Attach attach(track);
    Take(Phase::kForward, 10);
    Take(Phase::kBackward, 20);
    Take(Phase::kForward, 10);
  }
  std::this_thread::sleep_for(milliseconds(5));
  const PhaseTimes times = track.Times();
  EXPECT_GE(times[Phase::kSetUp], 0.005);
  EXPECT_GE(times[Phase::kForward], 0.020);
  EXPECT_GE(times[Phase::kBackward], 0.020);
  EXPECT_GE(times[Phase::kIdle], 0.005);
  EXPECT_NEAR(times.Sum() + times[Phase::kUnnamed], times.wall_s, 1e-6);
  EXPECT_NEAR(times.Work() + times[Phase::kIdle], times.Sum(), 1e-6);
}

TEST(Span, PausesTheEnclosingSpan) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  {
    const Span outer(Phase::kWaitForWorkers);
    Take(Phase::kExpand, 20);
  }
  const PhaseTimes times = track.Times();
  EXPECT_GE(times[Phase::kExpand], 0.020);
  EXPECT_LT(times[Phase::kWaitForWorkers], 0.010);
}

TEST(Span, NestedSpansCountAsValidation) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  {
    const Span outer(Phase::kValidation);
    Take(Phase::kExpand, 5);
  }
  Take(Phase::kExpand, 5);
  EXPECT_GE(track.Times()[Phase::kValidation], 0.005);
  EXPECT_LT(track.Times()[Phase::kExpand], track.Times().wall_s - 0.005);
}

TEST(Span, TimeOutsideSpansIsUnnamed) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_GE(track.Times()[Phase::kUnnamed], 0.005);
  EXPECT_LE(track.Times().Sum(), track.Times().wall_s - 0.005);
}

TEST(Span, HasNoEffectOnAThreadWithoutATrack) {
  Take(Phase::kForward, 0);
  EXPECT_EQ(Timeline::Current(), nullptr);
  EXPECT_EQ(Timeline::CurrentPhase(), Phase::kUnnamed);
}

TEST(Track, IncludesTheCurrentPhase) {
  Timeline timeline;
  Track& track = timeline.NamedTrack("main");
  const Attach attach(track);
  const Span span(Phase::kForward);
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_GE(track.Times()[Phase::kForward], 0.005);
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
  track.SynchronizeAfterPhases([&] {
    ++calls;
    std::this_thread::sleep_for(milliseconds(5));
  });
  const Attach attach(track);
  Take(Phase::kForward, 0);
  Take(Phase::kReport, 0);
  EXPECT_EQ(calls, 1);
  EXPECT_GE(track.Times()[Phase::kForward], 0.005);
  EXPECT_GE(track.Times().synchronize_s, 0.005);
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
  std::atomic<bool> done{false};
  {
    Worker worker("helper");
    worker.Post([&] {
      Take(Phase::kGather, 10);
      done = true;
    });
    while (!done) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(10));
  }
  const PhaseTimes times = TimesOf(timeline, "helper");
  EXPECT_GE(times[Phase::kGather], 0.010);
  EXPECT_GE(times[Phase::kIdle], 0.010);
  EXPECT_GE(times.Sum(), 0.98 * times.wall_s);
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
  Take(Phase::kForward, 0);
  timeline.Record(true);
  {
    const Section update("update", 7);
    Take(Phase::kBackward, 5);
    StartArrow("rows", 7);
  }
  const Section open("update", 8);
  timeline.Record(false);
  Take(Phase::kForward, 0);

  const std::vector<TraceEvent> events = EventsOf(timeline, "main");
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].name, "backward");
  EXPECT_GE(events[0].end - events[0].begin, milliseconds(5));
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
  PhaseTimes all;
  {
    const Attach attach(track);
    const Span span(Phase::kWrite);
    ForRanges(40, 1, [](std::size_t, std::size_t count) {
      std::this_thread::sleep_for(milliseconds(count));
    });
  }
  for (const auto& one : timeline.Times()) {
    EXPECT_EQ(one.is_worker, one.name != "main");
    EXPECT_GE(one.times.Sum(), 0.9 * one.times.wall_s) << one.name;
    all += one.times;
  }
  EXPECT_GE(all[Phase::kWrite], 0.040);
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
