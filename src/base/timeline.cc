#include "base/timeline.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <numeric>
#include <utility>

namespace tandem {
namespace {

// In the order of Activity.
constexpr std::array<std::string_view, kNumActivities> kNames = {
    "unnamed", "idle", "set_up",
    // Generation.
    "generate", "scramble", "expand", "evaluate", "back_up", "write", "wait_for_workers",
    "wait_for_inference", "wait_for_free_slot",
    // Making batches.
    "shuffle", "gather", "host_to_device", "wait_for_room",
    // Reading shards.
    "disk_load", "wait_for_chunk", "gpu_transfer", "gpu_queue_wait",
    // Training.
    "wait_for_rows", "serve", "replay", "wait_for_batch", "forward", "backward", "clip_gradients",
    "optimizer", "wait_for_device", "reduce", "wait_for_ranks", "refresh_target", "publish",
    // Between updates.
    "keep_state", "validation", "checkpoint", "wait_for_disk", "report"};
static_assert(!kNames.back().empty(), "an activity has no name");

}  // namespace

std::string_view ActivityName(Activity activity) {
  return kNames[static_cast<std::size_t>(activity)];
}

bool IsWait(Activity activity) {
  return activity == Activity::kIdle || activity == Activity::kGpuQueueWait ||
         ActivityName(activity).starts_with("wait_");
}

double ActivityTimes::Sum() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) - (*this)[Activity::kUnnamed];
}

double ActivityTimes::Work() const {
  double work = Sum();
  for (std::size_t i = 0; i < kNumActivities; ++i) {
    if (IsWait(static_cast<Activity>(i))) work -= seconds[i];
  }
  return work;
}

double ActivityTimes::WaitForOthers() const {
  return (*this)[Activity::kWaitForRows] + (*this)[Activity::kGpuQueueWait] +
         (*this)[Activity::kWaitForRanks] + (*this)[Activity::kWaitForDisk];
}

ActivityTimes& ActivityTimes::operator+=(const ActivityTimes& other) {
  for (std::size_t i = 0; i < kNumActivities; ++i) seconds[i] += other.seconds[i];
  wall_s += other.wall_s;
  synchronize_s += other.synchronize_s;
  return *this;
}

ActivityTimes& ActivityTimes::operator-=(const ActivityTimes& other) {
  for (std::size_t i = 0; i < kNumActivities; ++i) seconds[i] -= other.seconds[i];
  wall_s -= other.wall_s;
  synchronize_s -= other.synchronize_s;
  return *this;
}

namespace {

using Clock = Track::Clock;

constinit thread_local Track* current_track = nullptr;

// The activity of the first span that an exception left. Forgotten when a span begins normally.
constinit thread_local Activity failed_activity = Activity::kUnnamed;

// Caches the worker track that the thread used last. Timelines are identified by number, because a
// new timeline may have the address of an old one.
struct LastWorkerTrack {
  std::uint64_t timeline = 0;
  Track* track = nullptr;
};
constinit thread_local LastWorkerTrack last_worker_track;

std::uint64_t NextTimeline() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

void RecordArrow(TraceEvent::Kind kind, std::string_view name, std::int64_t number) {
  if (current_track == nullptr || !current_track->timeline().recording()) return;
  const Clock::time_point now = Clock::now();
  current_track->Append({.kind = kind, .name = name, .number = number, .begin = now, .end = now});
}

// Whether nested spans count as this activity instead of their own. Validation also expands and
// evaluates states, but its activity should show how long all of it takes.
bool TakesAll(Activity activity) { return activity == Activity::kValidation; }

bool UsesDevice(Activity activity) {
  return activity == Activity::kHostToDevice || activity == Activity::kForward ||
         activity == Activity::kBackward || activity == Activity::kClipGradients ||
         activity == Activity::kOptimizer;
}

}  // namespace

Track::Track(Timeline& timeline, std::string name, bool is_worker, Clock::time_point start,
             Activity activity)
    : timeline_(timeline),
      name_(std::move(name)),
      is_worker_(is_worker),
      start_(start),
      since_(start),
      activity_(activity) {}

ActivityTimes Track::Times() const {
  ActivityTimes times;
  const MutexLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  for (std::size_t i = 0; i < kNumActivities; ++i) times.seconds[i] = Seconds(spent_[i]);
  times[activity_] += Seconds(now - since_);
  times.synchronize_s = Seconds(synchronizing_);
  times.wall_s = Seconds(now - start_);
  return times;
}

ThreadState Track::State() const {
  const MutexLock lock(mutex_);
  return {.name = name_, .activity = activity_, .seconds = Seconds(Clock::now() - since_)};
}

std::vector<TraceEvent> Track::Events() const {
  const MutexLock lock(mutex_);
  return {events_.begin(), events_.end()};
}

void Track::Append(const TraceEvent& event) {
  const MutexLock lock(mutex_);
  try {
    events_.push_back(event);
  } catch (const std::bad_alloc&) {  // only this event is lost
  }
}

void Track::Change(Activity to) {
  const MutexLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  spent_[static_cast<std::size_t>(activity_)] += now - since_;
  since_ = now;
  activity_ = to;
}

void Track::SynchronizeAfterActivities(std::function<void()> synchronize) {
  synchronize_ = std::move(synchronize);
}

void Track::EndActivity(Activity activity, Activity to) {
  if (synchronize_ && UsesDevice(activity)) {
    const Clock::time_point start = Clock::now();
    try {
      synchronize_();
    } catch (...) {  // spans end in destructors; the device reports its failure at its next use
    }
    const MutexLock lock(mutex_);
    synchronizing_ += Clock::now() - start;
  }
  Change(to);
}

Timeline::Timeline(Clock::time_point start) : id_(NextTimeline()), start_(start) {}

Timeline::~Timeline() = default;

Timeline* Timeline::Current() {
  return current_track == nullptr ? nullptr : &current_track->timeline();
}

Activity Timeline::CurrentActivity() {
  return current_track == nullptr ? Activity::kUnnamed : current_track->activity();
}

ActivityTimes Timeline::CurrentTimes() {
  return current_track == nullptr ? ActivityTimes() : current_track->Times();
}

Activity Timeline::FailedActivity() { return failed_activity; }

Track& Timeline::AddMainTrack(std::string name, Activity activity) {
  const MutexLock lock(mutex_);
  return Add(std::move(name), /*is_worker=*/false, start_, activity);
}

Track& Timeline::NamedTrack(const std::string& name) {
  const MutexLock lock(mutex_);
  for (const std::unique_ptr<Track>& track : tracks_) {
    if (!track->is_worker() && track->name() == name) return *track;
  }
  return Add(name, /*is_worker=*/false, Clock::now(), Activity::kIdle);
}

Track& Timeline::WorkerTrack() {
  if (last_worker_track.timeline != id_) {
    const MutexLock lock(mutex_);
    Track*& track = workers_[std::this_thread::get_id()];
    if (track == nullptr) {
      track = &Add(fmt::format("worker {}", workers_.size()), /*is_worker=*/true, Clock::now(),
                   Activity::kIdle);
    }
    last_worker_track = {.timeline = id_, .track = track};
  }
  return *last_worker_track.track;
}

Track& Timeline::Add(std::string name, bool is_worker, Clock::time_point start, Activity activity) {
  return *tracks_.emplace_back(
      std::make_unique<Track>(*this, std::move(name), is_worker, start, activity));
}

std::vector<const Track*> Timeline::Tracks() const {
  const MutexLock lock(mutex_);
  std::vector<const Track*> all;
  for (const auto& track : tracks_) all.push_back(track.get());
  return all;
}

Attach::Attach(Track& track) { Enter(track); }

Attach::Attach(Timeline* timeline) {
  if (timeline != nullptr && timeline != Timeline::Current()) Enter(timeline->WorkerTrack());
}

void Attach::Enter(Track& track) {
  outer_ = std::exchange(current_track, &track);
  if (outer_ == &track) return;
  attached_ = &track;
  track.Change(Activity::kUnnamed);
}

Attach::~Attach() {
  if (attached_ == nullptr) return;
  attached_->Change(Activity::kIdle);
  current_track = outer_;
}

Section::Section(std::string_view name, std::int64_t number) {
  if (current_track == nullptr || !current_track->timeline().recording()) return;
  track_ = current_track;
  event_ = {.name = name, .number = number, .begin = Clock::now()};
}

Section::~Section() {
  if (track_ == nullptr) return;
  event_.end = Clock::now();
  track_->Append(event_);
}

Span::Span(Activity activity) : section_(ActivityName(activity)), track_(current_track) {
  if (track_ == nullptr) return;
  exceptions_ = std::uncaught_exceptions();
  if (exceptions_ == 0) failed_activity = Activity::kUnnamed;
  outer_ = track_->activity();
  activity_ = TakesAll(outer_) ? outer_ : activity;
  track_->Change(activity_);
}

Span::~Span() {
  if (track_ == nullptr) return;
  if (std::uncaught_exceptions() > exceptions_ && failed_activity == Activity::kUnnamed) {
    failed_activity = activity_;
  }
  track_->EndActivity(activity_, outer_);
}

void StartArrow(std::string_view name, std::int64_t number) {
  RecordArrow(TraceEvent::Kind::kArrowStart, name, number);
}

void EndArrow(std::string_view name, std::int64_t number) {
  RecordArrow(TraceEvent::Kind::kArrowEnd, name, number);
}

}  // namespace tandem
