#include "data/replay_buffer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "base/timeline.h"
#include "tandem/error.h"

namespace tandem {

ReplayBuffer::ReplayBuffer(const Schema& schema, std::size_t rows, std::int64_t earlier,
                           std::uint64_t seed)
    : seed_(seed), sample_(schema, rows) {
  for (std::int64_t i = 0; i <= earlier; ++i) buffers_.emplace_back(schema, rows);
}

void ReplayBuffer::Add(std::int64_t update, const DataBuffer& rows) {
  const Span span(Activity::kReplay);
  if (first_ != end_ && update != end_) {
    throw Error(fmt::format("replay got the rows of update {}, expected update {}", update, end_));
  }
  if (first_ == end_) first_ = update;
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    std::ranges::copy(rows.column(c).bytes(), buffers_[SlotOf(update)].column(c).data());
  }
  end_ = update + 1;
  first_ = std::max(first_, end_ - static_cast<std::int64_t>(buffers_.size()));
}

// Selection sampling (Knuth, The Art of Computer Programming, vol. 2, algorithm S): one pass over
// all rows takes each row with the probability that makes the sample uniform.
const DataBuffer& ReplayBuffer::Sample() {
  const Span span(Activity::kReplay);
  Random random(seed_, Purpose::kReplay, end_ - 1, 0);
  std::size_t remaining = static_cast<std::size_t>(end_ - first_) * rows();
  std::size_t wanted = rows();
  for (std::int64_t update = first_; update < end_; ++update) {
    picked_.clear();
    for (std::size_t row = 0; row < rows(); ++row) {
      if (random.Below(remaining--) >= wanted) continue;
      picked_.push_back(static_cast<std::uint32_t>(row));
      --wanted;
    }
    const std::size_t first = rows() - wanted - picked_.size();
    for (std::size_t c = 0; c < schema().columns.size(); ++c) {
      CopyRows(BufferOf(update).column(c), picked_, sample_.column(c).Slice(first, picked_.size()));
    }
  }
  return sample_;
}

}  // namespace tandem
