#include "train/gather.h"

#include <algorithm>
#include <numeric>

#include "base/timeline.h"
#include "generate/generator.h"

namespace tandem {

LazyShuffle::LazyShuffle(std::size_t n, Random random) : order_(n), random_(random) {
  std::iota(order_.begin(), order_.end(), 0U);
}

std::span<const std::uint32_t> LazyShuffle::Next(std::size_t count) {
  const Span span(Phase::kShuffle);
  const std::size_t first = drawn_;
  const std::size_t end = std::min(first + count, order_.size());
  DrawPlaces(std::span(order_), first, end, random_);
  drawn_ = end;
  return std::span(order_).subspan(first, end - first);
}

LazyShuffle OrderOf(std::size_t rows, std::uint64_t seed, std::int64_t update) {
  const Span span(Phase::kShuffle);
  return {rows, Random(seed, Purpose::kShuffle, static_cast<std::uint64_t>(update))};
}

void Gather(const DataBuffer& rows, std::span<const std::uint32_t> picked, TransferSlot& slot) {
  const Span span(Phase::kGather);
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    const ConstRows from = rows.column(c);
    const Rows to(reinterpret_cast<std::uint8_t*>(slot.host(c).data()), picked.size(),
                  from.row_size());
    for (std::size_t i = 0; i < picked.size(); ++i) {
      std::copy_n(from[picked[i]].data(), from.row_size(), to[i].data());
    }
  }
}

Batch BatchIn(const TransferSlot& slot, std::int64_t rows) {
  return {.inputs = slot.device(kInputColumn).narrow(0, 0, rows),
          .targets = slot.device(kTargetColumn).narrow(0, 0, rows)};
}

std::vector<TensorSpec> BatchTensors(const Schema& schema, std::int64_t batch_size) {
  const auto width = static_cast<std::int64_t>(schema.columns[kInputColumn].width);
  const auto outputs = static_cast<std::int64_t>(schema.columns[kTargetColumn].width);
  return {{.type = at::kByte, .sizes = {batch_size, width}},
          {.type = at::kFloat, .sizes = {batch_size, outputs}}};
}

}  // namespace tandem
