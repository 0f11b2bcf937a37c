#include "ranks/membership.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "base/log.h"
#include "base/machine.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "nn/torch_message.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr const char* kHowToStart =
    "Start ranks with `torchrun --nproc-per-node N --no-python tandem train ...`, or unset RANK "
    "and WORLD_SIZE";

// Returns the number in a variable, which must be from `least` to `most`.
int Number(const char* name, const std::string& value, int least, int most) {
  const auto number = ParseNumber<int>(value);
  if (number && *number >= least && *number <= most) return *number;
  const std::string range = most == std::numeric_limits<int>::max()
                                ? fmt::format("at least {}", least)
                                : fmt::format("from {} to {}", least, most);
  throw InputError(fmt::format("environment variable {} is \"{}\"; expected a number {}. {}", name,
                               value, range, kHowToStart));
}

}  // namespace

std::optional<RankEnvironment> ReadRankEnvironment(const GetVariable& variable) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const auto set = [&](const char* name) { return variable(name).has_value(); };
  if (!set("RANK") && !set("WORLD_SIZE")) return std::nullopt;
  const auto required = [&](const char* name) {
    if (const auto value = variable(name); value && !value->empty()) return *value;
    throw InputError(fmt::format(
        "environment variable {} is not set, but {} is, so this process is one of several ranks. "
        "{}",
        name, set("RANK") ? "RANK" : "WORLD_SIZE", kHowToStart));
  };
  const auto number_or = [&](const char* name, int otherwise, int least, int most) {
    const auto value = variable(name);
    return value ? Number(name, *value, least, most) : otherwise;
  };
  RankEnvironment environment;
  environment.world_size = Number("WORLD_SIZE", required("WORLD_SIZE"), 1, kMost);
  if (environment.world_size == 1 && !set("MASTER_ADDR")) return std::nullopt;
  environment.rank = Number("RANK", required("RANK"), 0, environment.world_size - 1);
  environment.host = required("MASTER_ADDR");
  environment.port = static_cast<std::uint16_t>(
      Number("MASTER_PORT", required("MASTER_PORT"), 1, std::numeric_limits<std::uint16_t>::max()));
  environment.local_rank = number_or("LOCAL_RANK", 0, 0, environment.world_size - 1);
  environment.launcher_holds_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  // Ranks of two jobs that use the same port do not meet, since they look under different names.
  environment.run_id =
      variable("TORCHELASTIC_RUN_ID").value_or(variable("SLURM_JOB_ID").value_or(""));
  environment.restart = number_or("TORCHELASTIC_RESTART_COUNT", 0, 0, kMost);
  environment.max_restarts = number_or("TORCHELASTIC_MAX_RESTARTS", 0, 0, kMost);
  return environment;
}

std::optional<RankEnvironment> ReadRankEnvironment() {
  return ReadRankEnvironment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBeat{250};
constexpr double kProofTime = 5;               // seconds
constexpr double kLastReads = kProofTime + 2;  // seconds, until others noticed a report and read it
constexpr milliseconds kLookAgain{100};
constexpr milliseconds kQuietWait{5000};  // for a rank, before a message names it

std::string AliveKey(int rank) { return fmt::format("alive/{}", rank); }
std::string NameKey(int rank) { return fmt::format("name/{}", rank); }
std::string LeftKey(int rank) { return fmt::format("left/{}", rank); }
constexpr const char* kFailures = "failures";  // all reports, one after the other

std::vector<std::uint8_t> BytesOf(std::string_view text) { return {text.begin(), text.end()}; }
std::string TextOf(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// A report of a failure, or without a text, of a rank that was lost.
std::vector<std::uint8_t> Report(int rank, std::string_view why) {
  std::vector<std::uint8_t> report = BytesOf(fmt::format("{} {}", rank, why));
  report.push_back('\0');
  return report;
}

constexpr const char* kTakePort =
    "If another job uses this port, set MASTER_PORT to a free one (torchrun: --master-port)";

std::string StoreMessage(const RankEnvironment& environment, const char* what,
                         const std::exception& reason) {
  return fmt::format(
      "rank {}: cannot {} the store at {}:{} (MASTER_ADDR:MASTER_PORT), where the ranks meet. {}. "
      "LibTorch reports: {}",
      environment.rank, what, environment.host, environment.port, kTakePort,
      MessageFor(std::string_view(reason.what())));
}

c10::intrusive_ptr<c10d::Store> Connect(const RankEnvironment& environment, milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = environment.port;
  options.isServer = environment.rank == 0 && !environment.launcher_holds_store;
  options.waitWorkers = false;  // Membership names those that do not come
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(environment.host, options);
  } catch (const std::exception& error) {
    throw Error(StoreMessage(environment, options.isServer ? "open" : "reach", error));
  }
}

// The counters of all ranks, as texts. Each rank set its counter when it joined.
std::vector<std::string> Counters(c10d::Store& store, int world_size) {
  std::vector<std::string> keys;
  keys.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) keys.push_back(AliveKey(rank));
  std::vector<std::string> counters;
  for (const auto& counter : store.multiGet(keys)) counters.push_back(TextOf(counter));
  return counters;
}

// What the ranks reported, by rank. A rank may report several times, but only one text.
std::map<int, std::string> FailuresIn(c10d::Store& store) {
  std::map<int, std::string> failures;
  std::istringstream lines(TextOf(store.get(kFailures)));
  int rank = 0;
  for (std::string why; lines >> rank && std::getline(lines, why, '\0');) {
    failures[rank] += why.substr(1);  // without the space
  }
  return failures;
}

// Calls `action`, or says why it fails.
void TryToAbort(const std::function<void()>& action) {
  std::string why;
  try {
    action();
    return;
  } catch (const std::exception& error) {
    why = MessageFor(std::string_view(error.what()));
  } catch (...) {
    why = "unknown exception (not derived from std::exception)";
  }
  LogWarning(fmt::format("cannot abort the exchanges with a rank that was lost: {}", why));
}

}  // namespace

Membership::Membership(const RankEnvironment& environment, milliseconds join_timeout,
                       milliseconds lost_after)
    : environment_(environment), lost_after_(lost_after) {
  const auto began = Clock::now();
  const auto tcp = Connect(environment, join_timeout);
  launch_ = c10::make_intrusive<c10d::PrefixStore>("tandem/" + environment.run_id, tcp);
  const std::string prefix = fmt::format("tandem/{}/{}/{}", environment.run_id, environment.restart,
                                         environment.world_size);
  store_ = c10::make_intrusive<c10d::PrefixStore>(prefix, tcp);
  beats_ = c10::make_intrusive<c10d::PrefixStore>(prefix, tcp->clone());
  try {
    AwaitAll(began + join_timeout);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(StoreMessage(environment, "reach", error));
  }
  thread_ = std::thread([this] { Beat(); });
  pthread_setname_np(thread_.native_handle(), "ranks");
}

Membership::~Membership() {
  {
    const MutexLock lock(alarm_->mutex);
    alarm_->ends = true;
  }
  alarm_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
  if (reported_) Leave();
}

// The store ends with the rank that holds it, so that rank waits until the others, which are ending
// too, have read why. A rank that was killed does not say that it leaves.
void Membership::Leave() noexcept {
  try {
    store_->set(LeftKey(environment_.rank), BytesOf(""));
    if (environment_.rank != 0 || environment_.launcher_holds_store) return;
    std::vector<int> reading = Others();
    std::erase_if(reading, [&](int rank) { return std::ranges::count(silent_, rank) > 0; });
    const Stopwatch watch;
    while (!reading.empty() && watch.Seconds() < kLastReads) {
      std::this_thread::sleep_for(kLookAgain);
      std::erase_if(reading, [&](int rank) { return store_->check({LeftKey(rank)}); });
    }
  } catch (...) {
    return;  // there is no store left to wait for
  }
}

void Membership::AwaitAll(Clock::time_point deadline) {
  if (store_->add(AliveKey(environment_.rank), 1) != 1) {
    throw Error(fmt::format(
        "rank {}: at the store at {}:{} (MASTER_ADDR:MASTER_PORT), where the ranks meet, another "
        "process is rank {}. {}",
        environment_.rank, environment_.host, environment_.port, environment_.rank, kTakePort));
  }
  const std::string name =
      fmt::format("rank {} (process {} on {})", environment_.rank, ::getpid(), HostName());
  store_->set(NameKey(environment_.rank), BytesOf(name));
  std::vector<int> missing;
  for (int rank = 0; rank < environment_.world_size; ++rank) {
    if (HasJoined(rank, deadline)) {
      names_.push_back(TextOf(store_->get(NameKey(rank))));
    } else {
      missing.push_back(rank);
    }
  }
  if (missing.empty()) return;
  throw Error(
      fmt::format("expected {} ranks, but these did not join in time: {}. Check that they "
                  "were started and can reach {}:{}. {}",
                  environment_.world_size, fmt::join(missing, ", "), environment_.host,
                  environment_.port, kTakePort));
}

// Waits for a rank until the deadline, and says so if that takes long.
bool Membership::HasJoined(int rank, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
  if (AwaitName(rank, std::min(left, kQuietWait))) return true;
  if (left <= kQuietWait) return false;
  LogWarning(fmt::format("waiting for rank {} ({} ranks are expected), for up to {:.0f} s", rank,
                         environment_.world_size, std::chrono::duration<double>(left).count()));
  return AwaitName(rank, left - kQuietWait);
}

// A wait fails in the same way if the time is up and if the store is lost; in the second case, the
// check fails too.
bool Membership::AwaitName(int rank, milliseconds time) {
  try {
    store_->wait({NameKey(rank)}, std::max(time, milliseconds(1)));
    return true;
  } catch (const std::exception&) {
    return store_->check({NameKey(rank)});
  }
}

std::vector<int> Membership::Others() const {
  std::vector<int> others;
  for (int rank = 0; rank < environment_.world_size; ++rank) {
    if (rank != environment_.rank) others.push_back(rank);
  }
  return others;
}

// Each beat is one request: in turn, it counts this rank's own counter up, reads that of the next
// rank, and looks for reports, by which all learn of a rank that was lost.
//
// Goes on after a rank was lost, since this rank may work for a while before it notices, and the
// one before it would take it for lost too.
void Membership::Beat() {
  const std::string next = AliveKey((environment_.rank + 1) % environment_.world_size);
  std::int64_t last = 0;
  Clock::time_point since = Clock::now();
  int beat = 0;
  for (bool has_store = true; has_store && !EndsWithin(kBeat); beat = (beat + 1) % 3) {
    bool lost = false;
    try {
      if (beat == 0) {
        beats_->add(AliveKey(environment_.rank), 1);
      } else if (beat == 1) {
        const std::int64_t now = beats_->add(next, 0);
        if (now != std::exchange(last, now)) since = Clock::now();
      } else {
        lost = beats_->check({kFailures});
      }
      if (!lost && Clock::now() - since > lost_after_) {
        beats_->append(kFailures, Report(environment_.rank, ""));
        lost = true;
      }
    } catch (...) {
      has_store = false;
    }
    if (has_store && !lost) continue;
    const MutexLock lock(alarm_->mutex);
    if (!std::exchange(alarm_->lost, true)) alarm_->changed.notify_all();
  }
}

// Waits for this time, or until the destructor ends the thread. Returns whether it does.
bool Membership::EndsWithin(milliseconds time) {
  const auto end = Clock::now() + time;
  MutexLock lock(alarm_->mutex);
  while (!alarm_->ends && lock.WaitUntil(alarm_->changed, end)) continue;
  return alarm_->ends;
}

// The action may block, and neither the beats nor those that use the alarm may wait for it. Its
// thread starts here, because a thread cannot always be started later.
void Membership::OnLost(std::function<void()> action) {
  action_ = std::jthread([alarm = alarm_, action = std::move(action)] {
    {
      MutexLock lock(alarm->mutex);
      while (!alarm->lost && !alarm->ends) lock.Wait(alarm->changed);
      if (!alarm->lost) return;
    }
    TryToAbort(action);
  });
}

bool Membership::has_lost() const {
  const MutexLock lock(alarm_->mutex);
  return alarm_->lost;
}

bool Membership::WaitFor(const std::function<bool()>& done) {
  MutexLock lock(alarm_->mutex);
  while (!alarm_->lost && !done()) lock.Wait(alarm_->changed);
  return done();
}

std::function<void()> Membership::waker() const {
  return [alarm = alarm_] {
    { const MutexLock lock(alarm->mutex); }  // so that no waiting thread is between its test
    alarm->changed.notify_all();             // and its sleep
  };
}

void Membership::Remember(const std::string& text) { launch_->set("noted/" + text, BytesOf("")); }

bool Membership::Remembers(const std::string& text) const {
  return launch_->check({"noted/" + text});
}

void Membership::ReportFailure(std::string_view why) noexcept {
  if (std::exchange(reported_, true)) return;
  try {
    store_->append(kFailures, Report(environment_.rank, why));
  } catch (...) {
    return;  // the others will find that this rank has ended
  }
}

std::string Membership::DescribeLost() noexcept {
  try {
    return DescribeSilent();
  } catch (...) {
    const bool held_by_rank = !environment_.launcher_holds_store && environment_.rank != 0;
    return fmt::format("the store at {}:{}, which {} holds, cannot be reached", environment_.host,
                       environment_.port, held_by_rank ? NameOf(0) : "the launcher");
  }
}

std::string Membership::DescribeSilent() {
  // A report without a text comes from a rank that ends because it lost another one.
  ReportFailure("");
  std::map<int, std::string> failures;
  silent_ = Others();
  const std::vector<std::string> before = Counters(*store_, size());
  const Stopwatch watch;
  while (!silent_.empty() && watch.Seconds() < kProofTime) {
    std::this_thread::sleep_for(kLookAgain);
    failures = FailuresIn(*store_);
    const std::vector<std::string> now = Counters(*store_, size());
    std::erase_if(silent_, [&](int rank) {
      const auto i = static_cast<std::size_t>(rank);
      return failures.contains(rank) || now.at(i) != before.at(i);
    });
  }
  std::vector<std::string> failed;
  for (const auto& [rank, why] : failures) {
    if (!why.empty()) failed.push_back(fmt::format("{} failed: {}", NameOf(rank), why));
  }
  for (const int rank : silent_) failed.push_back(NameOf(rank) + " ended without a message");
  if (failed.empty()) return "all ranks are alive";
  return fmt::format("{}", fmt::join(failed, "; "));
}

}  // namespace tandem
