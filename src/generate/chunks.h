// Splits the rows of a fill into chunks of fixed size.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tandem {

/// Chunk is a range of rows of a fill.
struct Chunk {
  std::int64_t first = 0;  ///< index of the first row, counted from 0 in each fill
  std::int64_t rows = 0;
};

/// Chunks divides `rows` rows into chunks of `chunk_rows` rows; the last one may be shorter. The
/// number of workers plays no part, so the network sees the same batches with any number of them.
class Chunks {
 public:
  Chunks(std::int64_t rows, std::int64_t chunk_rows) : rows_(rows), chunk_rows_(chunk_rows) {}

  std::int64_t size() const { return (rows_ + chunk_rows_ - 1) / chunk_rows_; }

  Chunk operator[](std::int64_t i) const {
    const std::int64_t first = i * chunk_rows_;
    return {.first = first, .rows = std::min(chunk_rows_, rows_ - first)};
  }

 private:
  std::int64_t rows_;
  std::int64_t chunk_rows_;
};

}  // namespace tandem
