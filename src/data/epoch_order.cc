#include "data/epoch_order.h"

#include <numeric>

#include "base/random.h"

namespace tandem {
namespace {

template <class Number>
void Shuffle(std::span<Number> numbers, Random random) {
  std::iota(numbers.begin(), numbers.end(), Number{0});
  PartialShuffle(numbers, 0, numbers.size(), random);
}

}  // namespace

EpochOrder::EpochOrder(const ShardSetSpec& set, std::uint64_t seed)
    : set_(set),
      seed_(seed),
      num_chunks_(set.num_chunks()),
      chunks_(static_cast<std::size_t>(num_chunks_)) {}

std::int64_t EpochOrder::ChunkOf(std::int64_t step) {
  ShuffleChunks(EpochOf(step));
  return chunks_[static_cast<std::size_t>(step % num_chunks_)];
}

EpochPosition EpochOrder::Find(std::int64_t row) {
  EpochPosition position{.step = row / set_.examples * num_chunks_, .row = row % set_.examples};
  for (;;) {
    const std::int64_t rows = set_.RowsOfChunk(ChunkOf(position.step));
    if (position.row < rows) return position;
    position.row -= rows;
    ++position.step;
  }
}

void EpochOrder::ShuffleChunks(std::int64_t epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  Shuffle(std::span(chunks_), Random(seed_, Purpose::kChunkOrder, epoch, 0));
}

void ShuffleRows(std::span<std::int32_t> rows, std::uint64_t seed, std::int64_t epoch,
                 std::int64_t chunk) {
  Shuffle(rows, Random(seed, Purpose::kRowOrder, epoch, chunk));
}

}  // namespace tandem
