// The store at which the ranks of a run meet, and which of them are alive.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace c10d {
class Store;
}

namespace tandem {

/// RankEnvironment says which rank of a group of processes this one is, and where the ranks meet.
/// torchrun sets the variables that it comes from; with another launcher, a script sets them.
struct RankEnvironment {
  int rank = 0;                       ///< RANK: number of this process, from 0
  int world_size = 1;                 ///< WORLD_SIZE: number of processes
  int local_rank = 0;                 ///< LOCAL_RANK: number among the processes of this machine
  std::string host;                   ///< MASTER_ADDR: where the store is, at which the ranks meet
  std::uint16_t port = 0;             ///< MASTER_PORT
  bool launcher_holds_store = false;  ///< TORCHELASTIC_USE_AGENT_STORE; otherwise rank 0 holds it
  std::string run_id = {};            ///< TORCHELASTIC_RUN_ID
  int restart = 0;       ///< TORCHELASTIC_RESTART_COUNT: how often the ranks were started again
  int max_restarts = 0;  ///< TORCHELASTIC_MAX_RESTARTS
};

/// Returns the value of an environment variable, or nothing if it is not set.
using GetVariable = std::function<std::optional<std::string>(const char* name)>;

/// Returns nothing if this process belongs to no group: neither RANK nor WORLD_SIZE is set, or
/// WORLD_SIZE is 1 and MASTER_ADDR is not set. Throws InputError that names a wrong variable.
std::optional<RankEnvironment> ReadRankEnvironment(const GetVariable& variable);

/// Reads the environment of this process.
std::optional<RankEnvironment> ReadRankEnvironment();

/// Membership knows the ranks of a run. Its thread raises this rank's counter in the store more
/// than once a second, and watches the counter of the next rank. A rank whose counter stands still,
/// one that reports a failure, and a store that cannot be reached count as lost.
class Membership {
 public:
  /// Joins the group and waits for all ranks. A rank whose counter stands still for `lost_after`
  /// counts as lost. Throws Error that names the missing ranks if they do not join within
  /// `join_timeout`, or the store if it cannot be reached or another process has joined as this
  /// rank.
  explicit Membership(const RankEnvironment& environment,
                      std::chrono::milliseconds join_timeout = std::chrono::minutes(5),
                      std::chrono::milliseconds lost_after = std::chrono::seconds(20));
  /// After a failure, the rank that holds the store waits up to 7 s until the others have read why.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  const RankEnvironment& environment() const { return environment_; }
  int rank() const { return environment_.rank; }
  int size() const { return environment_.world_size; }

  /// The store, with a prefix of this start of the ranks. For the main thread.
  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

  /// "rank 1 (process 4711 on node3)".
  const std::string& NameOf(int rank) const { return names_.at(static_cast<std::size_t>(rank)); }

  /// Remembers a text for later starts of the ranks (`restart`), if the launcher holds the store.
  void Remember(const std::string& text);
  bool Remembers(const std::string& text) const;

  /// Tells the other ranks why this one ends. Does nothing if the store cannot be reached.
  void ReportFailure(std::string_view why) noexcept;

  /// Whether a rank counts as lost.
  bool has_lost() const;

  /// Waits until `done` returns true or a rank counts as lost, and returns what `done` returns
  /// then. The thread that makes `done` true must then call the function that waker returned.
  bool WaitFor(const std::function<bool()>& done);
  std::function<void()> waker() const;

  /// Calls `action` once, on a thread of its own, when a rank counts as lost. A warning says why it
  /// failed, if it throws. The destructor waits for it. Call this once, before the first exchange.
  void OnLost(std::function<void()> action);

  /// Call after communication failed. Returns a sentence that names the ranks that failed, with
  /// what they reported, or ended without a report. Takes up to 5 s, in which ranks prove that they
  /// live.
  std::string DescribeLost() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  struct Alarm {
    Mutex mutex;
    std::condition_variable changed;
    bool lost ABSL_GUARDED_BY(mutex) = false;
    bool ends ABSL_GUARDED_BY(mutex) = false;
  };

  void AwaitAll(Clock::time_point deadline);
  bool HasJoined(int rank, Clock::time_point deadline);
  bool AwaitName(int rank, std::chrono::milliseconds time);
  void Beat();
  bool EndsWithin(std::chrono::milliseconds time);
  void Leave() noexcept;
  std::vector<int> Others() const;
  std::string DescribeSilent();

  const RankEnvironment environment_;
  const std::chrono::milliseconds lost_after_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Store> launch_;  // with the prefix that all starts have in common
  c10::intrusive_ptr<c10d::Store> beats_;   // a connection of its own, for the thread
  std::vector<std::string> names_;
  bool reported_ = false;
  std::vector<int> silent_;  // ranks that gave no sign of life when DescribeLost asked for one
  const std::shared_ptr<Alarm> alarm_ = std::make_shared<Alarm>();
  std::jthread action_;  // waits for the alarm, and calls the action of OnLost
  std::thread thread_;   // last, because it uses everything above
};

}  // namespace tandem
