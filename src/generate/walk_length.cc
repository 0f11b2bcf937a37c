#include "generate/walk_length.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/random.h"
#include "generate/random_walk.h"

namespace tandem {

WalkLengthGenerator::WalkLengthGenerator(const Domain& domain, WalkLengthOptions options)
    : domain_(domain), options_(options), arena_(options.workers) {}

void WalkLengthGenerator::Fill(const FillRequest& request, DataBuffer& out,
                               const StopSignal& stop) {
  const Chunks chunks(request.rows, options_.chunk_rows);
  arena_.execute([&] {
    ForRanges(chunks.size(), 1, [&](std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i) {
        if (stop.Reached()) throw Stopped();
        FillChunk(request, chunks[static_cast<std::int64_t>(i)], out);
      }
    });
  });
}

void WalkLengthGenerator::FillChunk(const FillRequest& request, Chunk chunk,
                                    DataBuffer& out) const {
  const Rows inputs = out.column(kInputColumn);
  const std::span<float> targets = out.floats(kTargetColumn);
  const std::size_t width = TargetWidth(domain_.spec(), options_.head);
  std::vector<std::uint8_t> state(domain_.spec().state_size);

  std::int64_t row = request.first_row + chunk.first;  // global
  const std::int64_t end = row + chunk.rows;
  while (row < end) {
    const std::int64_t walk = row / options_.length;
    RandomWalk steps(
        domain_,
        Random(options_.seed, Purpose::kScramble, static_cast<std::uint64_t>(request.update),
               static_cast<std::uint64_t>(walk)),
        state);
    // A chunk that begins inside a walk takes that walk from its start, without writing.
    const std::int64_t walk_end = (walk + 1) * options_.length;
    for (std::int64_t prefix = walk * options_.length; prefix < std::min(walk_end, end); ++prefix) {
      steps.Step();
      if (prefix < row) continue;
      const auto at = static_cast<std::size_t>(row - request.first_row);
      domain_.Encode(ConstRows(std::span<const std::uint8_t>(state)), inputs.Slice(at, 1));
      WriteLabel(prefix % options_.length + 1, *steps.back(), targets.subspan(at * width, width));
      ++row;
    }
  }
}

void WalkLengthGenerator::WriteLabel(std::int64_t length, Action back,
                                     std::span<float> label) const {
  const float cost = domain_.spec().action_cost;
  const auto walk_cost = static_cast<float>(length) * cost;
  if (options_.head == Head::kV) {
    label[0] = walk_cost;
    return;
  }
  std::ranges::fill(label, walk_cost + 2 * cost);
  label[back] = walk_cost;
}

}  // namespace tandem
