#include "generate/walk_length.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "domain/random_walk.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::int64_t kBlockRows = 512;

}  // namespace

// Iterates over the prefixes of all walks, in the order of their rows.
class WalkLengthGenerator::Prefixes {
 public:
  // Starts just before `row`: the walk that contains it is replayed from its start up to there.
  Prefixes(const WalkLengthGenerator& generator, std::int64_t update, std::int64_t row)
      : generator_(generator),
        update_(update),
        state_(generator.domain_.spec().state_size),
        walk_(row / generator.walk_length_) {
    StartWalk();
    for (std::int64_t i = row % generator.walk_length_; i > 0; --i) Next();
  }

  void Next() {
    if (length_ == generator_.walk_length_) {
      ++walk_;
      StartWalk();
    }
    steps_->Step();
    ++length_;
  }

  std::span<const std::uint8_t> state() const { return state_; }
  const RandomWalk& walk() const { return *steps_; }

 private:
  void StartWalk() {
    length_ = 0;
    steps_.emplace(generator_.domain_,
                   Random(generator_.seed_, Purpose::kScramble, static_cast<std::uint64_t>(update_),
                          static_cast<std::uint64_t>(walk_)),
                   state_);
  }

  const WalkLengthGenerator& generator_;
  const std::int64_t update_;
  std::vector<std::uint8_t> state_;
  std::int64_t walk_;
  std::int64_t length_ = 0;
  std::optional<RandomWalk> steps_;
};

WalkLengthGenerator::WalkLengthGenerator(const Domain& domain, const Config& config,
                                         std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      walk_length_(config.generate.max_scramble),
      range_rows_(config.generate.chunk_rows),
      seed_(static_cast<std::uint64_t>(config.seed)),
      head_(config.network.head),
      schema_(ExampleSchema(domain.spec(), head_)),
      exact_(std::move(exact)),
      arena_(static_cast<int>(*config.generate.workers)) {
  if (head_ == Head::kQ && domain.spec().inverse_actions.empty()) {
    throw InputError(
        "generate.target: walk_length with network.head q needs actions that can be undone, and " +
        domain.spec().name +
        " has some that cannot; set generate.target to value_iteration, or network.head to v");
  }
}

void WalkLengthGenerator::Fill(const FillRequest& request, DataBuffer& out,
                               const StopSignal& stop) {
  const RowRanges ranges(request.rows, range_rows_);
  arena_.execute([&] {
    ForRanges(ranges.size(), 1, [&](std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i) {
        if (stop.Reached()) throw Stopped();
        FillRange(request, ranges[static_cast<std::int64_t>(i)], out);
      }
    });
  });
}

// Works in blocks, so that walking and encoding are timed separately while states stay in cache.
void WalkLengthGenerator::FillRange(const FillRequest& request, RowRange range,
                                    DataBuffer& out) const {
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  const RowRanges blocks(range.rows, kBlockRows);
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(kBlockRows) * state_size);
  Prefixes prefixes(*this, request.update, request.first_row + range.first);
  for (std::int64_t i = 0; i < blocks.size(); ++i) {
    const auto first = static_cast<std::size_t>(range.first + blocks[i].first);
    const Rows states(memory.data(), static_cast<std::size_t>(blocks[i].rows), state_size);
    Walk(prefixes, states, first, out);
    if (exact_ != nullptr) UseExactLabels(request, states, first, out);
    const Span span(Phase::kWrite);
    domain_.Encode(states, out.column(kInputColumn).Slice(first, states.size()));
  }
}

void WalkLengthGenerator::Walk(Prefixes& prefixes, Rows states, std::size_t first,
                               DataBuffer& out) const {
  const Span span(Phase::kScramble);
  const std::span<float> targets = out.floats(kTargetColumn);
  const std::size_t width = TargetWidth(domain_.spec(), head_);
  for (std::size_t i = 0; i < states.size(); ++i) {
    prefixes.Next();
    std::ranges::copy(prefixes.state(), states[i].begin());
    WriteLabel(prefixes.walk(), targets.subspan((first + i) * width, width));
  }
}

// Replaces the states of anchors, and the labels of all states in the ball.
void WalkLengthGenerator::UseExactLabels(const FillRequest& request, Rows states, std::size_t first,
                                         DataBuffer& out) const {
  const Span span(Phase::kScramble);
  const std::span<float> targets = out.floats(kTargetColumn);
  const std::size_t width = TargetWidth(domain_.spec(), head_);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int64_t row = request.first_row + static_cast<std::int64_t>(first + i);
    if (const std::optional<std::size_t> anchor = exact_->Anchor(request.update, row)) {
      std::ranges::copy(exact_->ball()->state(*anchor), states[i].begin());
    }
    exact_->Write(states[i], targets.subspan((first + i) * width, width));
  }
}

void WalkLengthGenerator::WriteLabel(const RandomWalk& walk, std::span<float> label) const {
  if (head_ == Head::kV) {
    label[0] = walk.cost_back();
    return;
  }
  const DomainSpec& spec = domain_.spec();
  for (std::size_t a = 0; a < label.size(); ++a) {
    label[a] = walk.cost_back() + spec.action_costs[a] + UndoCost(spec, static_cast<Action>(a));
  }
  if (walk.back()) label[*walk.back()] = walk.cost_back();
}

}  // namespace tandem
