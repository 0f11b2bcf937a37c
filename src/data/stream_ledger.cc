#include "data/stream_ledger.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tandem {

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
  const std::lock_guard lock(mutex_);
  position_.done.push_back(file);
}

StreamUse StreamLedger::TakeUse() { return std::exchange(use_, {}); }

std::vector<DoneShard> StreamLedger::TakeDone() { return std::exchange(done_, {}); }

StreamPosition StreamLedger::position() const {
  const std::lock_guard lock(mutex_);
  return position_;
}

// Later checkpoints do not name these shards, so their removal must be durable first.
void StreamLedger::OnCheckpoint(const StreamPosition& position) {
  folder_.RemoveUsed(position.done);
  const std::set<std::string> counted(position.done.begin(), position.done.end());
  const std::lock_guard lock(mutex_);
  std::erase_if(position_.done, [&](const std::string& file) { return counted.contains(file); });
}

}  // namespace tandem
