#include "generate/walk_length.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "generate/random_walk.h"

namespace tandem {
namespace {

constexpr std::int64_t kBlockRows = 512;

}  // namespace

// Goes from row to row, from one walk to the next.
class WalkLengthGenerator::Prefixes {
 public:
  // The walk that `row` lies in is taken from its start, up to before that row.
  Prefixes(const WalkLengthGenerator& generator, std::int64_t update, std::int64_t row)
      : domain_(generator.domain_),
        options_(generator.options_),
        update_(update),
        state_(domain_.spec().state_size) {
    StartWalk(row / options_.length);
    for (std::int64_t i = row % options_.length; i > 0; --i) Next();
  }

  void Next() {
    if (length_ == options_.length) StartWalk(walk_ + 1);
    steps_->Step();
    ++length_;
  }

  std::span<const std::uint8_t> state() const { return state_; }
  std::int64_t length() const { return length_; }
  Action back() const { return *steps_->back(); }

 private:
  void StartWalk(std::int64_t walk) {
    walk_ = walk;
    length_ = 0;
    steps_.emplace(domain_,
                   Random(options_.seed, Purpose::kScramble, static_cast<std::uint64_t>(update_),
                          static_cast<std::uint64_t>(walk)),
                   state_);
  }

  const Domain& domain_;
  const WalkLengthOptions& options_;
  const std::int64_t update_;
  std::vector<std::uint8_t> state_;
  std::int64_t walk_ = 0;
  std::int64_t length_ = 0;
  std::optional<RandomWalk> steps_;
};

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

// In blocks, so that walking and encoding can be told apart while the states stay in cache.
void WalkLengthGenerator::FillChunk(const FillRequest& request, Chunk chunk,
                                    DataBuffer& out) const {
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  const Chunks blocks(chunk.rows, kBlockRows);
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(kBlockRows) * state_size);
  Prefixes prefixes(*this, request.update, request.first_row + chunk.first);
  for (std::int64_t i = 0; i < blocks.size(); ++i) {
    const auto first = static_cast<std::size_t>(chunk.first + blocks[i].first);
    const Rows states(memory.data(), static_cast<std::size_t>(blocks[i].rows), state_size);
    Walk(prefixes, states, first, out);
    const Span span(Phase::kWrite);
    domain_.Encode(states, out.column(kInputColumn).Slice(first, states.size()));
  }
}

void WalkLengthGenerator::Walk(Prefixes& prefixes, Rows states, std::size_t first,
                               DataBuffer& out) const {
  const Span span(Phase::kScramble);
  const std::span<float> targets = out.floats(kTargetColumn);
  const std::size_t width = TargetWidth(domain_.spec(), options_.head);
  for (std::size_t i = 0; i < states.size(); ++i) {
    prefixes.Next();
    std::ranges::copy(prefixes.state(), states[i].begin());
    WriteLabel(prefixes.length(), prefixes.back(), targets.subspan((first + i) * width, width));
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
