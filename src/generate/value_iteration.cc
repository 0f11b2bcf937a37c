#include "generate/value_iteration.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "base/random.h"
#include "base/timeline.h"
#include "domain/random_walk.h"
#include "generate/pipelined_loop.h"

namespace tandem {
namespace {

constexpr std::size_t kGrain = 64;  // states per TBB task

// Whether state i is a goal or a neighbour of one.
bool ReachedGoal(const StateBatch& batch, std::size_t i) {
  const std::size_t num_actions = batch.children.size() / batch.size();
  const auto children = batch.children.is_goal().subspan(i * num_actions, num_actions);
  return batch.is_goal[i] != 0 ||
         std::ranges::any_of(children, [](std::uint8_t goal) { return goal != 0; });
}

}  // namespace

// One call of Fill: its request, its output, and the mapping from instances and steps to rows.
struct ValueIterationGenerator::CurrentFill {
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
                                                 const Config& config,
                                                 std::shared_ptr<const ExactLabels> exact)
    : domain_(domain),
      config_(config.generate),
      seed_(static_cast<std::uint64_t>(config.seed)),
      labelled_(config.pipeline.mode != Mode::kSyncMain),
      schema_(labelled_ ? ExampleSchema(domain.spec(), config.network.head)
                        : StateSchema(domain.spec())),
      exact_(std::move(exact)),
      targets_(domain, network, config, exact_),
      arena_(static_cast<int>(*config.generate.workers)),
      groups_{Group(domain, network, BallOf(exact_)), Group(domain, network, BallOf(exact_))} {}

void ValueIterationGenerator::Fill(const FillRequest& request, DataBuffer& out,
                                   const StopSignal& stop) {
  const bool searches = config_.search != GenerateSearch::kNone;
  const CurrentFill fill{
      .request = request, .out = out, .steps = searches ? config_.search_iterations : 1};
  // At least two ranges, so that one can be expanded while the other is evaluated.
  const std::int64_t half = (fill.instances() + 1) / 2;
  const RowRanges ranges(fill.instances(), std::clamp<std::int64_t>(half, 1, config_.chunk_rows));
  // Ranges are processed in pairs. If the last range has no partner, every second turn is empty.
  const std::int64_t pairs = (ranges.size() + 1) / 2;
  const auto expand = [&](std::int64_t turn) {
    Group& group = groups_[turn % 2];
    const std::int64_t range = turn / 2 / fill.steps * 2 + turn % 2;
    group.instances = range < ranges.size() ? ranges[range] : RowRange{};
    group.step = turn / 2 % fill.steps;
    Expand(fill, group);
  };
  const auto evaluate = [&](std::int64_t turn) {
    groups_[turn % 2].batch.children.EstimateAll();
    if (labelled_) WriteTargets(fill, groups_[turn % 2]);
  };
  PipelinedLoop(arena_, pairs * 2 * fill.steps, stop, expand, evaluate).Run();
}

void ValueIterationGenerator::Expand(const CurrentFill& fill, Group& group) const {
  const auto instances = static_cast<std::size_t>(group.instances.rows);
  group.batch.Resize(instances);
  while (group.searches.size() < instances) {
    group.searches.push_back(MakeStateSearch(domain_.spec(), config_));
  }
  ForRanges(instances, kGrain, [&](std::size_t first, std::size_t count) {
    {
      const Span span(Phase::kScramble);
      for (std::size_t i = first; i < first + count; ++i) Advance(fill, group, i);
    }
    group.batch.Expand(first, count);
    const Span span(Phase::kWrite);
    for (std::size_t i = first; i < first + count; ++i) {
      const std::optional<std::size_t> row = fill.RowInFill(group, i);
      if (row) WriteState(fill, group, i, *row);
    }
  });
}

// Replaces the state of instance i with its next state, by the search or by a new scramble.
void ValueIterationGenerator::Advance(const CurrentFill& fill, Group& group, std::size_t i) const {
  StateBatch& batch = group.batch;
  StateSearch* search = group.searches[i].get();  // null without a search
  const auto random = [&](Purpose purpose) {
    return Random(seed_, purpose, static_cast<std::uint64_t>(fill.request.update),
                  static_cast<std::uint64_t>(fill.GlobalRow(group, i)));
  };
  const bool continues = search != nullptr && group.step > 0 && !ReachedGoal(batch, i);
  if (continues && search->Next(batch, i, random(Purpose::kRollout))) return;
  batch.bounds[i] =
      Scramble(domain_, random(Purpose::kScramble), config_.max_scramble, batch.rows()[i]);
  if (search != nullptr) search->Begin(batch, i);
}

// The state of the ball that takes the place of instance i's row, if the row is an anchor.
std::optional<std::size_t> ValueIterationGenerator::Anchor(const CurrentFill& fill,
                                                           const Group& group,
                                                           std::size_t i) const {
  if (exact_ == nullptr) return std::nullopt;
  return exact_->Anchor(fill.request.update, fill.GlobalRow(group, i));
}

// Writes the columns that do not depend on estimates.
void ValueIterationGenerator::WriteState(const CurrentFill& fill, Group& group, std::size_t i,
                                         std::size_t row) const {
  const StateBatch& batch = group.batch;
  const std::optional<std::size_t> anchor = Anchor(fill, group, i);
  const std::span<const std::uint8_t> state =
      anchor ? exact_->ball()->state(*anchor) : batch.rows()[i];
  if (labelled_) {
    domain_.Encode(ConstRows(state), fill.out.column(kInputColumn).Slice(row, 1));
    return;
  }
  std::ranges::copy(state, fill.out.column(kStateColumn)[row].begin());
  fill.out.floats(kBoundColumn)[row] = anchor ? exact_->ball()->cost(*anchor) : batch.bounds[i];
}

void ValueIterationGenerator::WriteTargets(const CurrentFill& fill, const Group& group) const {
  const Span span(Phase::kBackUp);
  for (std::size_t i = 0; i < group.batch.size(); ++i) {
    const std::optional<std::size_t> row = fill.RowInFill(group, i);
    if (!row) continue;
    if (const std::optional<std::size_t> anchor = Anchor(fill, group, i)) {
      const std::span<float> targets = fill.out.floats(kTargetColumn);
      const std::size_t width = targets.size() / fill.out.rows();
      exact_->Write(exact_->ball()->state(*anchor), targets.subspan(*row * width, width));
    } else {
      targets_.Write(group.batch, i, fill.out, *row);
    }
  }
}

}  // namespace tandem
