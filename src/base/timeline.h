// Where the time of each thread of a run goes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/phase.h"
#include "base/trace_log.h"

namespace tandem {

/// Seconds by phase.
struct PhaseTimes {
  std::array<double, kNumPhases> seconds{};
  double wall_s = 0;         ///< of the thread, or of all threads together
  double synchronize_s = 0;  ///< of the phases above: waiting for the device at their ends

  double operator[](Phase phase) const { return seconds[static_cast<std::size_t>(phase)]; }
  double& operator[](Phase phase) { return seconds[static_cast<std::size_t>(phase)]; }

  /// In all named phases; in those that are no wait.
  double Sum() const;
  double Work() const;

  PhaseTimes& operator+=(const PhaseTimes& other);
  PhaseTimes& operator-=(const PhaseTimes& other);
};

class Timeline;

/// The books of one thread. It is always in one phase, and a change of phase is one look at the
/// clock. Written by its own thread, read by any.
class Track {
 public:
  using Clock = std::chrono::steady_clock;

  /// The thread is in `phase` from `start` on.
  Track(Timeline& timeline, std::string name, bool is_worker, Clock::time_point start, Phase phase);

  Timeline& timeline() const { return timeline_; }
  const std::string& name() const { return name_; }
  bool is_worker() const { return is_worker_; }

  PhaseTimes Times() const;

  /// What was recorded of it (Timeline::Record).
  std::vector<TraceEvent> Events() const { return events_.Events(); }

  /// The rest is for the track's own thread.
  Phase phase() const { return static_cast<Phase>(phase_.load(std::memory_order_relaxed)); }
  Clock::time_point Change(Phase to);  ///< returns when that was

  /// From now on `synchronize` is called at the end of each phase that gives work to the device, so
  /// that its time is that of the work.
  void SynchronizeAfterPhases(std::function<void()> synchronize);
  Clock::time_point EndPhase(Phase phase, Phase to);
  void Append(const TraceEvent& event) { events_.Append(event); }

 private:
  void Update(Clock::time_point now, Phase to);

  Timeline& timeline_;
  const std::string name_;
  const bool is_worker_;
  const Clock::time_point start_;
  std::function<void()> synchronize_;

  // A sequence lock: odd while what follows it is being written. The data are atomic too, so that a
  // reader who comes too early reads something, sees that, and reads again.
  std::atomic<std::uint64_t> version_{0};
  std::array<std::atomic<Clock::rep>, kNumPhases> spent_{};  // before since_
  std::atomic<Clock::rep> since_;
  std::atomic<std::uint8_t> phase_;
  std::atomic<Clock::rep> synchronizing_{0};

  TraceLog events_;
};

/// Is told of the spans that are recorded as they begin and end, on their threads: another tool's
/// ranges.
class RangeListener {
 public:
  virtual ~RangeListener() = default;
  virtual void Begin(std::string_view name) = 0;
  virtual void End() = 0;
};

/// The tracks of a run. Must outlive all use of them.
class Timeline {
 public:
  struct TrackTimes {
    std::string name;
    bool is_worker = false;
    PhaseTimes times;
  };
  struct TrackEvents {
    std::string name;
    std::vector<TraceEvent> events;
  };

  explicit Timeline(Track::Clock::time_point start = Track::Clock::now());
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// That of the track that the calling thread is attached to; null if to none.
  static Timeline* Current();

  /// The phase that the calling thread is in; kUnnamed where it is attached to no track.
  static Phase CurrentPhase();

  /// Adds a track that is in `phase` from the timeline's start on.
  Track& AddMainTrack(std::string name, Phase phase);

  /// The track of that name, for a thread that follows another; else a new one, which is idle until
  /// a thread attaches to it.
  Track& NamedTrack(const std::string& name);

  /// The calling thread's track among those of threads that many runs may share.
  Track& WorkerTrack();

  /// Of all tracks, in the order they were added.
  std::vector<TrackTimes> Times() const;
  std::vector<TrackEvents> Events() const;

  /// From now on, or no more, scopes that begin are recorded when they end. The listener, if any,
  /// must outlive all threads that do.
  void Record(bool on, RangeListener* listener = nullptr);
  bool recording() const { return recording_.load(std::memory_order_relaxed); }
  RangeListener* listener() const { return listener_.load(std::memory_order_acquire); }

  Track::Clock::time_point start() const { return start_; }

 private:
  Track& Add(std::string name, bool is_worker, Track::Clock::time_point start, Phase phase);

  const std::uint64_t id_;  // of all timelines of the process
  const Track::Clock::time_point start_;
  std::atomic<bool> recording_{false};
  std::atomic<RangeListener*> listener_{nullptr};
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Track>> tracks_;           // guarded by mutex_
  std::unordered_map<std::thread::id, Track*> workers_;  // likewise
};

/// While it lives, the calling thread works on a track, which is idle while no thread does.
class Attach {
 public:
  explicit Attach(Track& track);

  /// To the worker track of `timeline`, unless the thread is on one of its tracks already. Nothing
  /// where `timeline` is null.
  explicit Attach(Timeline* timeline);
  ~Attach();
  Attach(const Attach&) = delete;
  Attach& operator=(const Attach&) = delete;

 private:
  void Enter(Track& track);

  Track* outer_ = nullptr;     // of the thread
  Track* attached_ = nullptr;  // null where there was nothing to do
};

/// Records the time of a scope if the calling thread's timeline is recording: the part of Section
/// and Span that is for pictures.
class Recorded {
 public:
  Recorded(Track* track, std::string_view name, std::int64_t number);

  bool on() const { return track_ != nullptr; }

  /// Both require on().
  void Begin(Track::Clock::time_point now);
  void End(Track::Clock::time_point now);

 private:
  Track* const track_;  // null where nothing is recorded
  const std::string_view name_;
  const std::int64_t number_;
  Track::Clock::time_point begin_;
  RangeListener* listener_ = nullptr;
};

/// While it lives, the calling thread is in a phase; the phase it was in waits meanwhile. Costs
/// some nanoseconds on a thread without a track and two looks at the clock on others: use it for
/// ranges of rows and not for rows.
class Span {
 public:
  explicit Span(Phase phase);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Track* const track_;
  Recorded recorded_;
  Phase phase_ = Phase::kUnnamed;
  Phase outer_ = Phase::kUnnamed;
};

/// A scope that is only recorded: what several phases make up, such as an update. `name` has static
/// storage.
class Section {
 public:
  Section(std::string_view name, std::int64_t number);
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  Recorded recorded_;
};

/// Record one end of an arrow from the scope that the calling thread is in to one of another
/// thread.
void StartArrow(std::string_view name, std::int64_t number);
void EndArrow(std::string_view name, std::int64_t number);

}  // namespace tandem
