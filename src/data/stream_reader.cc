#include "data/stream_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/fault_point.h"
#include "base/file.h"
#include "base/log.h"
#include "base/timeline.h"

namespace tandem {
namespace {

// A shared file system does not report new files, so the folder is listed this often if none is
// known.
constexpr auto kLookEvery = std::chrono::milliseconds(100);

// How often a waiting thread checks for a stop.
constexpr auto kCheckEvery = std::chrono::milliseconds(20);

constexpr auto kTryAgainAfter = std::chrono::seconds(1);

}  // namespace

StreamReader::StreamReader(const StreamFolder& folder, StreamOptions options,
                           const StopSignal& stop, Interrupter* interrupter)
    : folder_(folder),
      options_(std::move(options)),
      stop_(stop),
      ready_(static_cast<std::size_t>(options_.read_ahead)),
      interrupts_(interrupter, [this](const std::exception_ptr& reason) { ready_.Close(reason); }),
      thread_(kStreamThread) {
  thread_.Post([this] {
    try {
      Run();
    } catch (...) {
      ready_.Close(std::current_exception());
    }
  });
}

std::optional<StreamShard> StreamReader::Take(bool wait) {
  const Span span(Activity::kGpuQueueWait);
  while (true) {
    std::optional<StreamShard> shard = wait ? ready_.PopWithin(kCheckEvery) : ready_.TryPop();
    if (shard || !wait) return shard;
    if (stop_.Reached()) throw Stopped();
  }
}

void StreamReader::Run() {
  folder_.RemoveLeftovers();
  while (true) {
    Look();
    const Span span(Activity::kIdle);  // so that the watchdog does not take looking for progress
    ready_.Sleep(kLookEvery);
  }
}

// Reads the shards that were not read yet. Lists the folder after each wait for room, which may
// take a whole update, so that a shard that appears meanwhile is read in its order.
void StreamReader::Look() {
  while (true) {
    StreamFolder::Listing listing;
    {
      const Span span(Activity::kWaitForRoom);
      ready_.AwaitRoom();
    }
    {
      const Span span(Activity::kDiskLoad);
      listing = folder_.List();
    }
    for (const std::string& stray : listing.strays) {
      Reject(stray, "its name is not that of a shard of a stream");
    }
    std::set<std::string> there;
    for (const StreamShardName& name : listing.waiting) there.insert(FormatStreamShardName(name));
    std::erase_if(read_, [&](const std::string& file) { return !there.contains(file); });
    std::erase_if(refused_, [&](const auto& entry) { return !there.contains(entry.first); });
    waiting_ = std::ssize(listing.waiting);
    const std::optional<StreamShardName> next = NextOf(listing.waiting);
    if (!next) return;
    ReadOne(*next);
  }
}

// Returns the shard to read next, if one can be read now. The one that was used in part comes
// before all others, because the ledger remembers how many rows were used of one shard only.
std::optional<StreamShardName> StreamReader::NextOf(
    const std::vector<StreamShardName>& waiting) const {
  const auto can_be_read = [this](const std::string& file) {
    const auto refused = refused_.find(file);
    return refused == refused_.end() || StopSignal::Clock::now() >= refused->second;
  };
  std::optional<StreamShardName> next;
  for (const StreamShardName& name : waiting) {
    const std::string file = FormatStreamShardName(name);
    if (read_.contains(file)) continue;
    const bool now = can_be_read(file);
    if (file == options_.first) return now ? std::optional(name) : std::nullopt;
    if (now && !next) next = name;
  }
  return next;
}

void StreamReader::ReadOne(const StreamShardName& name) {
  const Span span(Activity::kDiskLoad);
  FaultPoint(Fault::kReadShard);
  const std::string file = FormatStreamShardName(name);
  std::optional<DataBuffer> rows;
  try {
    rows.emplace(ReadStreamShard(folder_.path(), options_.kind, name, options_.input_depth));
  } catch (const SystemError& error) {  // says nothing about the shard
    const bool is_new = !refused_.contains(file);
    refused_[file] = StopSignal::Clock::now() + kTryAgainAfter;
    if (is_new) LogWarning(fmt::format("{}; trying again every second", error.what()));
    return;
  } catch (const Error& error) {
    return Reject(file, error.what());
  }
  read_.insert(file);
  ready_.Push({.name = name, .rows = std::move(*rows)});
}

// A file that someone has removed meanwhile needs no warning. A link whose target is missing has to
// be moved away, because it would be read again and again.
void StreamReader::Reject(const std::string& file, const std::string& why) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(folder_.path() / file, error))) {
    return;
  }
  LogWarning(fmt::format("left out and moved to {}: {}", (folder_.path() / "rejected").string(),
                         why.starts_with(folder_.path().string())
                             ? why
                             : fmt::format("{}: {}", (folder_.path() / file).string(), why)));
  folder_.Reject(file);
  ++rejected_;
}

StreamLedger::StreamLedger(const StreamFolder& folder, StreamPosition from, std::int64_t max_lag)
    : folder_(folder), max_lag_(max_lag), position_(std::move(from)) {
  const std::set<std::string> counted(position_.done.begin(), position_.done.end());
  std::vector<std::string> used = folder_.Used();
  std::erase_if(used, [&](const std::string& file) { return counted.contains(file); });
  folder_.MarkUnused(used);
  folder_.RemoveUsed(position_.done);
  position_.done.clear();
}

std::optional<std::int64_t> StreamLedger::Begin(const StreamShardName& name, std::int64_t update) {
  if (IsTooOld(name.version, update)) {
    Drop(name, update);
    return std::nullopt;
  }
  begun_ = name;
  std::string file = FormatStreamShardName(name);
  if (position_.current != file) {
    position_.current = std::move(file);
    position_.current_rows = 0;
  }
  return position_.current_rows;
}

void StreamLedger::Use(std::int64_t rows, std::int64_t update) {
  // After a resume, a shard may have labels of a later version than the run has reached again.
  lag_ = std::max<std::int64_t>(update - begun_->version, 0);
  use_.lag_min = use_.rows == 0 ? lag_ : std::min(use_.lag_min, lag_);
  use_.lag_max = std::max(use_.lag_max, lag_);
  use_.lag_sum += static_cast<double>(lag_) * static_cast<double>(rows);
  use_.rows += rows;
  use_.rows_by_generator[begun_->generator] += rows;
  position_.current_rows += rows;
  position_.used_rows += rows;
}

void StreamLedger::End() {
  ++position_.used_shards;
  MarkDone(*begun_, position_.current_rows);
}

// The shard is the one that was used in part, or none of its rows was used.
void StreamLedger::Drop(const StreamShardName& name, std::int64_t update) {
  const bool is_current = position_.current == FormatStreamShardName(name);
  const std::int64_t used = is_current ? position_.current_rows : 0;
  const std::int64_t dropped = name.rows - used;
  ++position_.dropped_shards;
  position_.dropped_rows += dropped;
  use_.dropped_rows += dropped;
  lag_ = update - name.version;
  MarkDone(name, used);
}

void StreamLedger::MarkDone(const StreamShardName& name, std::int64_t rows_used) {
  folder_.MarkUsed(name);
  done_.push_back({.name = name, .rows_used = rows_used, .lag = lag_});
  const std::string file = FormatStreamShardName(name);
  if (position_.current == file) {
    position_.current.clear();
    position_.current_rows = 0;
    begun_.reset();
  }
  const MutexLock lock(mutex_);
  not_deleted_.push_back(file);
}

StreamUse StreamLedger::TakeUse() { return std::exchange(use_, {}); }

std::vector<DoneShard> StreamLedger::TakeDone() { return std::exchange(done_, {}); }

StreamPosition StreamLedger::position() const {
  StreamPosition position = position_;
  const MutexLock lock(mutex_);
  position.done = not_deleted_;
  return position;
}

// Later checkpoints do not name these shards, so their removal must be durable first.
void StreamLedger::OnCheckpoint(const StreamPosition& position) {
  folder_.RemoveUsed(position.done);
  const std::set<std::string> counted(position.done.begin(), position.done.end());
  const MutexLock lock(mutex_);
  std::erase_if(not_deleted_, [&](const std::string& file) { return counted.contains(file); });
}

}  // namespace tandem
