// The order in which training takes the rows of a buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.h"

namespace tandem {

/// RowOrder is the shuffled order in which an update trains on its rows. It is drawn only as far as
/// it is used. Not thread-safe.
class RowOrder {
 public:
  /// The order is a function of the arguments. `rank` is the number of this process among those
  /// that train together.
  RowOrder(std::size_t rows, std::uint64_t seed, std::int64_t update, std::int64_t rank)
      : order_(rows), random_(seed, Purpose::kShuffle, update, rank) {
    std::iota(order_.begin(), order_.end(), 0U);
  }

  /// Returns places [first, first + count) of the order, or those of them that there are.
  std::span<const std::uint32_t> Rows(std::size_t first, std::size_t count) {
    const std::size_t end = std::min(first + count, order_.size());
    if (end > drawn_) {
      PartialShuffle(std::span(order_), drawn_, end, random_);
      drawn_ = end;
    }
    return std::span(order_).subspan(first, end - first);
  }

 private:
  std::vector<std::uint32_t> order_;
  std::size_t drawn_ = 0;
  Random random_;
};

}  // namespace tandem
