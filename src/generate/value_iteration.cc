#include "generate/value_iteration.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "domain/random_walk.h"

namespace tandem {
namespace {

constexpr std::size_t kGrain = 64;  // states per TBB task

std::unique_ptr<const RowWriter> MakeWriter(const Domain& domain,
                                            const ValueIterationOptions& options) {
  if (!options.labelled) return std::make_unique<StateWriter>();
  return std::make_unique<ExampleWriter>(domain, options.head, options.capped);
}

// Whether state i is a goal or a neighbour of one.
bool ReachedGoal(const ExpandedBatch& batch, std::size_t i) {
  const std::size_t num_actions = batch.children.size() / batch.size();
  const auto children = batch.children.is_goal().subspan(i * num_actions, num_actions);
  return batch.is_goal[i] != 0 ||
         std::ranges::any_of(children, [](std::uint8_t goal) { return goal != 0; });
}

}  // namespace

// One call of Fill: its request, its output, and the mapping from instances and steps to rows.
struct ValueIterationGenerator::Filling {
  const FillRequest& request;
  DataBuffer& out;
  const std::int64_t steps;  // per instance

  std::int64_t first_instance() const { return request.first_row / steps; }
  std::int64_t instances() const {
    const std::int64_t end = request.first_row + request.rows;
    return (end + steps - 1) / steps - first_instance();
  }

  std::int64_t GlobalRow(const Group& group, std::size_t i) const {
    const std::int64_t instance = group.instances.first + static_cast<std::int64_t>(i);
    return (first_instance() + instance) * steps + group.step;
  }

  // Nothing if the row is outside the request: the first instance may start before the requested
  // rows, and the last may end after them.
  std::optional<std::size_t> RowInFill(const Group& group, std::size_t i) const {
    const std::int64_t row = GlobalRow(group, i) - request.first_row;
    if (row < 0 || row >= request.rows) return std::nullopt;
    return static_cast<std::size_t>(row);
  }
};

ValueIterationGenerator::ValueIterationGenerator(const Domain& domain, Evaluator& network,
                                                 ValueIterationOptions options)
    : domain_(domain),
      options_(options),
      lookahead_(domain, network),
      writer_(MakeWriter(domain, options)),
      turns_(options.workers),
      groups_{Group(domain), Group(domain)} {}

void ValueIterationGenerator::Fill(const FillRequest& request, DataBuffer& out,
                                   const StopSignal& stop) {
  const Filling fill{.request = request, .out = out, .steps = options_.search_iterations};
  // At least two chunks, so that one can be expanded while the other is evaluated.
  const std::int64_t half = (fill.instances() + 1) / 2;
  const Chunks chunks(fill.instances(), std::clamp<std::int64_t>(half, 1, options_.chunk_rows));
  // Chunks are processed in pairs. If the last chunk has no partner, every second turn is empty.
  const std::int64_t pairs = (chunks.size() + 1) / 2;
  const auto expand = [&](std::int64_t turn) {
    Group& group = groups_[turn % 2];
    const std::int64_t chunk = turn / 2 / fill.steps * 2 + turn % 2;
    group.instances = chunk < chunks.size() ? chunks[chunk] : Chunk{};
    group.step = turn / 2 % fill.steps;
    Expand(fill, group);
  };
  turns_.Run(pairs * 2 * fill.steps, stop, expand, [&](std::int64_t turn) {
    Evaluate(groups_[turn % 2]);
    BackUp(fill, groups_[turn % 2]);
  });
}

void ValueIterationGenerator::Expand(const Filling& fill, Group& group) const {
  const auto instances = static_cast<std::size_t>(group.instances.rows);
  lookahead_.Resize(group.batch, instances);
  while (group.searches.size() < instances) {
    group.searches.push_back(MakeStateSearch(domain_.spec(), options_.search));
  }
  ForRanges(instances, kGrain, [&](std::size_t first, std::size_t count) {
    {
      const Span span(Phase::kScramble);
      for (std::size_t i = first; i < first + count; ++i) Advance(fill, group, i);
    }
    lookahead_.Expand(group.batch, first, count);
    const Span span(Phase::kWrite);
    for (std::size_t i = first; i < first + count; ++i) {
      const std::optional<std::size_t> row = fill.RowInFill(group, i);
      if (row) writer_->WriteState(group.batch, i, fill.out, *row);
    }
  });
}

// Replaces the state of instance i with its next state, by the search or by a new scramble.
void ValueIterationGenerator::Advance(const Filling& fill, Group& group, std::size_t i) const {
  ExpandedBatch& batch = group.batch;
  StateSearch* search = group.searches[i].get();  // null without a search
  const auto random = [&](Purpose purpose) {
    return Random(options_.seed, purpose, static_cast<std::uint64_t>(fill.request.update),
                  static_cast<std::uint64_t>(fill.GlobalRow(group, i)));
  };
  const bool continues = search != nullptr && group.step > 0 && !ReachedGoal(batch, i);
  if (continues && search->Next(batch, i, random(Purpose::kRollout))) return;
  batch.bounds[i] =
      Scramble(domain_, random(Purpose::kScramble), options_.max_scramble, batch.rows()[i]);
  if (search != nullptr) search->Begin(batch, i);
}

void ValueIterationGenerator::Evaluate(Group& group) const { lookahead_.Evaluate(group.batch); }

void ValueIterationGenerator::BackUp(const Filling& fill, const Group& group) const {
  const Span span(Phase::kBackUp);
  for (std::size_t i = 0; i < group.batch.size(); ++i) {
    const std::optional<std::size_t> row = fill.RowInFill(group, i);
    if (row) writer_->WriteLabel(group.batch, i, fill.out, *row);
  }
}

}  // namespace tandem
