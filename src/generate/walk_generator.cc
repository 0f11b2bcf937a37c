#include "generate/walk_generator.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/timeline.h"

namespace tandem {

// Iterates over the prefixes that become rows, in the order of the rows.
class WalkGenerator::Prefixes {
 public:
  // Starts just before `row`: the walk that contains it is replayed from its start up to there.
  Prefixes(const WalkGenerator& generator, std::int64_t update, std::int64_t row)
      : generator_(generator),
        update_(update),
        state_(generator.domain_.spec().state_size),
        next_row_(row) {
    StartWalk();
  }

  void Next() {
    if (next_row_ % generator_.rows_.rows_per_walk() == 0) StartWalk();
    const std::int64_t depth = generator_.rows_.Depth(update_, next_row_++);
    for (; length_ < depth; ++length_) steps_->Step();
  }

  std::span<const std::uint8_t> state() const { return state_; }
  RandomWalk& walk() { return *steps_; }

 private:
  void StartWalk() {
    length_ = 0;
    const std::int64_t walk = next_row_ / generator_.rows_.rows_per_walk();
    steps_.emplace(generator_.domain_, Random(generator_.seed_, Purpose::kScramble, update_, walk),
                   state_, generator_.kind_);
  }

  const WalkGenerator& generator_;
  const std::int64_t update_;
  std::vector<std::uint8_t> state_;
  std::int64_t next_row_;
  std::int64_t length_ = 0;  // actions taken
  std::optional<RandomWalk> steps_;
};

WalkGenerator::WalkGenerator(const Domain& domain, const Config& config, WalkKind kind,
                             std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      rows_(config),
      kind_(kind),
      range_rows_(config.generate.rows_of_chunk()),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      exact_(std::move(exact)),
      arena_(static_cast<int>(*config.generate.workers)) {}

void WalkGenerator::Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) {
  FillRanges(arena_, RowRanges(request.rows, range_rows_), stop,
             [&](RowRange range) { FillRange(request, range, out); });
}

// Works in blocks, so that walking and encoding are timed separately.
void WalkGenerator::FillRange(const FillRequest& request, RowRange range, DataBuffer& out) const {
  std::vector<Action> actions;
  Prefixes prefixes(*this, request.update, request.first_row + range.first);
  FillBlocks(range, domain_.spec().state_size, [&](std::size_t first, Rows states) {
    actions.resize(states.size());
    Walk(prefixes, request, states, actions, first, out);
    if (exact_ != nullptr) PlaceAnchors(request, states, first);
    const Span span(Activity::kWrite);
    EncodeInputs(domain_, states, actions, out.column(kInputColumn).Slice(first, states.size()));
    if (exact_ != nullptr) WriteExact(states, first, out);
  });
}

// Corrects the labels of states in the ball. A goal outside would have the wrong label of its walk.
void WalkGenerator::WriteExact(ConstRows states, std::size_t first, DataBuffer& out) const {
  std::vector<std::uint8_t> is_goal(states.size());
  domain_.IsGoal(states, is_goal);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (exact_->Write(states[i], out, first + i) || is_goal[i] == 0) continue;
    RefuseSecondGoal(domain_, states[i]);
  }
}

void WalkGenerator::Walk(Prefixes& prefixes, const FillRequest& request, Rows states,
                         std::span<Action> actions, std::size_t first, DataBuffer& out) const {
  const Span span(Activity::kScramble);
  const bool weighted = HasWeights(schema_);
  for (std::size_t i = 0; i < states.size(); ++i) {
    prefixes.Next();
    std::ranges::copy(prefixes.state(), states[i].begin());
    const std::size_t row = first + i;
    const Random random(seed_, Purpose::kRollout, request.update, request.first_row + row);
    const std::span<float> label = out.floats(kTargetColumn, row);
    const auto weight = weighted ? out.floats(kWeightColumn, row) : std::span<float>();
    std::ranges::fill(label, 0.0F);
    std::ranges::fill(weight, 0.0F);
    actions[i] = WriteLabel(prefixes.walk(), random, label, weight).value_or(0);
  }
}

// Replaces the states of the rows that are anchors.
void WalkGenerator::PlaceAnchors(const FillRequest& request, Rows states, std::size_t first) const {
  const Span span(Activity::kScramble);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int64_t row = request.first_row + static_cast<std::int64_t>(first + i);
    if (const std::optional<std::size_t> anchor = exact_->Anchor(request.update, row)) {
      std::ranges::copy(exact_->ball()->state(*anchor), states[i].begin());
    }
  }
}

}  // namespace tandem
