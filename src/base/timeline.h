// The time of a run's threads: their activities, the tracks that count these, and traces.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"

namespace tandem {

/// Activity is what a thread spends its time on. The names (ActivityName) appear in files that
/// other programs read, so add activities but do not rename them once they are released.
enum class Activity : std::uint8_t {
  kUnnamed,  ///< time outside all spans; never reported, so that missing spans show as missing time
  kIdle,     ///< between two tasks
  kSetUp,    ///< choosing the number of updates, creating the network, starting threads

  // Generation.
  kGenerate,          ///< distributing the work of a fill
  kScramble,          ///< random walks
  kExpand,            ///< expanding states and testing the children for goals
  kEvaluate,          ///< evaluating with the target network
  kBackUp,            ///< computing labels from the children's estimates
  kWrite,             ///< encoding states for the buffer or for the target network
  kWaitForWorkers,    ///< waiting until the workers have finished the work given to them
  kWaitForInference,  ///< waiting until the main thread has evaluated states (sync_main)
  kWaitForFreeSlot,   ///< waiting until the trainer returns a buffer

  // Making batches.
  kShuffle,
  kGather,        ///< copying rows of the buffer into a batch
  kHostToDevice,  ///< starting the transfer of a batch to the device
  kWaitForRoom,   ///< waiting until the trainer returns a batch

  // Reading shards.
  kDiskLoad,      ///< reading a chunk from disk and verifying it
  kWaitForChunk,  ///< transfer thread: waiting until the next chunk has been read
  kGpuTransfer,   ///< transferring a chunk to the device, until it has arrived
  kGpuQueueWait,  ///< training thread: waiting for a chunk on the device, or for rows of a stream

  // Training.
  kWaitForRows,   ///< waiting until a buffer is full
  kServe,         ///< evaluating states for the generator (sync_main)
  kReplay,        ///< storing rows in replay and drawing a sample of them
  kWaitForBatch,  ///< waiting until the prefetch thread has made a batch
  kForward,
  kBackward,
  kClipGradients,
  kOptimizer,
  kWaitForDevice,
  kReduce,         ///< preparing the exchange of gradients with other ranks, and their mean
  kWaitForRanks,   ///< waiting for the other ranks and for the exchange
  kRefreshTarget,  ///< copying the weights to the target network
  kPublish,        ///< writing the weights for generators in other processes

  // Between updates.
  kKeepState,  ///< copying the state that is saved if the next update fails
  kValidation,
  kCheckpoint,
  kWaitForDisk,  ///< waiting until files have been written
  kReport,       ///< writing metrics and calling observers of the run

  kCount
};

inline constexpr auto kNumActivities = static_cast<std::size_t>(Activity::kCount);

/// The name of an activity in files, such as "wait_for_rows".
std::string_view ActivityName(Activity activity);

/// Whether the thread does no work in this activity.
bool IsWait(Activity activity);

/// ActivityTimes holds the seconds that one or several threads spent in each activity.
struct ActivityTimes {
  std::array<double, kNumActivities> seconds{};
  double wall_s = 0;  ///< wall time of the thread, or the sum over several threads
  double synchronize_s =
      0;  ///< part of `seconds` spent waiting for the device at ends of activities

  double operator[](Activity activity) const { return seconds[static_cast<std::size_t>(activity)]; }
  double& operator[](Activity activity) { return seconds[static_cast<std::size_t>(activity)]; }

  /// The time in all named activities.
  double Sum() const;
  /// The time in all named activities that are not waits (IsWait).
  double Work() const;
  /// The time in which the thread that trains waited for others: for rows, for shards or a stream,
  /// for other ranks, and until a checkpoint was on disk. Its waits for its batches and its device
  /// are part of training.
  double WaitForOthers() const;

  ActivityTimes& operator+=(const ActivityTimes& other);
  ActivityTimes& operator-=(const ActivityTimes& other);
};

/// TraceEvent is a scope of a thread, or one end of an arrow between two threads.
struct TraceEvent {
  enum class Kind : std::uint8_t { kSpan, kArrowStart, kArrowEnd };
  static constexpr std::int64_t kNoNumber = -1;

  Kind kind = Kind::kSpan;
  std::string_view name;            ///< must have static storage duration
  std::int64_t number = kNoNumber;  ///< an update or iteration; for an arrow, the same at both ends
  std::chrono::steady_clock::time_point begin, end;  ///< equal for the ends of arrows
};

/// ThreadState says what a thread does now.
struct ThreadState {
  std::string name;
  Activity activity = Activity::kIdle;
  double seconds = 0;  ///< since it came into this activity
};

class Timeline;

/// Track accounts for the time of one thread, which is always in exactly one activity. Changing the
/// activity reads the clock once. Only the track's own thread may write; any thread may read.
class Track {
 public:
  using Clock = std::chrono::steady_clock;

  /// Creates a track that is in `activity` from `start` on.
  Track(Timeline& timeline, std::string name, bool is_worker, Clock::time_point start,
        Activity activity);

  Timeline& timeline() const { return timeline_; }
  const std::string& name() const { return name_; }
  bool is_worker() const { return is_worker_; }

  ActivityTimes Times() const;
  ThreadState State() const;

  /// The events recorded on this track so far, in order (Timeline::Record).
  std::vector<TraceEvent> Events() const;

  // The methods from here on are for the track's own thread only.

  // No other thread writes, so its own thread reads without the mutex.
  Activity activity() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return activity_; }
  void Change(Activity to);

  /// From now on, calls `synchronize` at the end of each activity that gives work to the device, so
  /// that the activity's time includes that work.
  void SynchronizeAfterActivities(std::function<void()> synchronize);
  /// Ends `activity`, synchronizing if required, and changes to `to`.
  void EndActivity(Activity activity, Activity to);
  /// Records an event. Drops it if there is no memory for it, because spans end in destructors.
  void Append(const TraceEvent& event);

 private:
  Timeline& timeline_;
  const std::string name_;
  const bool is_worker_;
  const Clock::time_point start_;
  std::function<void()> synchronize_;

  // Only the track's own thread writes what the mutex guards. Two threads rarely need the mutex at
  // once, so taking it costs little.
  mutable Mutex mutex_;
  // Time per activity before since_.
  std::array<Clock::duration, kNumActivities> spent_ ABSL_GUARDED_BY(mutex_){};
  Clock::time_point since_ ABSL_GUARDED_BY(mutex_);
  Activity activity_ ABSL_GUARDED_BY(mutex_);
  Clock::duration synchronizing_ ABSL_GUARDED_BY(mutex_){};
  std::deque<TraceEvent> events_ ABSL_GUARDED_BY(mutex_);
};

/// Timeline holds the tracks of a run. It must outlive all threads that use them. Thread-safe.
class Timeline {
 public:
  explicit Timeline(Track::Clock::time_point start = Track::Clock::now());
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// The timeline of the track that the calling thread is attached to, or null.
  static Timeline* Current();

  /// The activity that the calling thread is in; kUnnamed if it is not attached to a track.
  static Activity CurrentActivity();

  /// The times of the track that the calling thread is attached to; all 0 without one.
  static ActivityTimes CurrentTimes();

  /// The activity that the calling thread was in when the exception that it handles was thrown or
  /// arrived: that of its innermost Span. Call it before the handler begins a Span. kUnnamed if the
  /// exception left no Span, or the thread is not attached to a track.
  static Activity FailedActivity();

  /// Adds a track that is in `activity` from the timeline's start on.
  Track& AddMainTrack(std::string name, Activity activity);

  /// The track `name`, if it exists: a new thread may continue the track of one that has ended.
  /// Otherwise a new track, which is idle until a thread attaches to it.
  Track& NamedTrack(const std::string& name);

  /// The calling thread's worker track, for threads that several runs may share, as those of TBB.
  Track& WorkerTrack();

  /// All tracks, in the order in which they were added. They live as long as the timeline.
  std::vector<const Track*> Tracks() const;

  /// Starts or stops recording. While it is on, each scope that begins is recorded when it ends.
  void Record(bool on) { recording_.store(on, std::memory_order_relaxed); }
  bool recording() const { return recording_.load(std::memory_order_relaxed); }

  Track::Clock::time_point start() const { return start_; }

 private:
  Track& Add(std::string name, bool is_worker, Track::Clock::time_point start, Activity activity)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::uint64_t id_;  // unique among all timelines of the process
  const Track::Clock::time_point start_;
  std::atomic<bool> recording_{false};
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Track>> tracks_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::thread::id, Track*> workers_ ABSL_GUARDED_BY(mutex_);
};

/// Attach attaches the calling thread to a track, which is idle while no thread is attached to it.
class Attach {
 public:
  explicit Attach(Track& track);

  /// Attaches to the thread's worker track in `timeline`. Does nothing if `timeline` is null or the
  /// thread is already attached to one of its tracks.
  explicit Attach(Timeline* timeline);
  ~Attach();
  Attach(const Attach&) = delete;
  Attach& operator=(const Attach&) = delete;

 private:
  void Enter(Track& track);

  Track* outer_ = nullptr;     // the thread's track before this object
  Track* attached_ = nullptr;  // null if there was nothing to do
};

/// Section records a scope of several activities, such as an update, if the thread's timeline is
/// recording. The thread's activity stays. `name` must have static storage duration.
class Section {
 public:
  explicit Section(std::string_view name, std::int64_t number = TraceEvent::kNoNumber);
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  Track* track_ = nullptr;  // null if nothing is recorded
  TraceEvent event_;
};

/// Span puts the calling thread into an activity for its lifetime and pauses the activity that the
/// thread was in. It costs a few nanoseconds on a thread without a track, and reads the clock twice
/// on any other thread. So use it for ranges of rows, not for single rows.
class Span {
 public:
  explicit Span(Activity activity);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const Section section_;
  Track* const track_;
  Activity activity_ = Activity::kUnnamed;
  Activity outer_ = Activity::kUnnamed;
  int exceptions_ = 0;  // being thrown when the span began
};

/// Record the ends of an arrow in the trace. It leads from the scope in which one thread calls
/// StartArrow to the one in which another calls EndArrow with the same name and number.
void StartArrow(std::string_view name, std::int64_t number);
void EndArrow(std::string_view name, std::int64_t number);

}  // namespace tandem
