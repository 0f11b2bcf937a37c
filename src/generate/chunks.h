// Splits the rows of a fill into chunks of fixed size.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tandem {

/// A range of rows of a fill: `first` counts from 0 within it.
struct Chunk {
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// Chunks depend on the number of rows alone, so what the network is shown at once does not depend
/// on the number of workers.
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
