#include "generate/own_solutions.h"

#include <algorithm>
#include <iterator>

#include "base/random.h"
#include "base/timeline.h"
#include "data/examples.h"
#include "domain/random_walk.h"
#include "generate/row_ranges.h"
#include "generate/walk_generator.h"
#include "search/beam_search.h"

namespace tandem {
namespace {

constexpr std::int64_t kInstancesPerTask = 8;

std::int64_t InstancesAtOnce(const GenerateConfig& config) {
  return std::max<std::int64_t>(config.rows_of_chunk() / config.max_scramble, 1);
}

Config ConfigOfSearch(const DomainSpec& spec, const Config& config) {
  const bool is_beam = config.generate.search == GenerateSearch::kBeam;
  if (is_beam) {
    CheckBeamWidth(spec, config.generate.search_beam_width, "generate.search_beam_width");
  }
  Config result = config;
  result.search = {.method = is_beam ? SearchMethod::kBeam : SearchMethod::kGreedy,
                   .beam_width = config.generate.search_beam_width,
                   .max_length = config.generate.search_iterations};
  return result;
}

}  // namespace

OwnSolutionsGenerator::OwnSolutionsGenerator(const Domain& domain, Evaluator& network,
                                             const Config& config)
    : domain_(domain),
      labels_(domain, config.network.head),
      kind_(WalkKindOfActions(domain, config.generate)),
      walk_length_(config.generate.max_scramble),
      at_once_(InstancesAtOnce(config.generate)),
      seed_(config.random_seed()),
      schema_(ExampleSchema(domain.spec(), config)),
      search_(MakeSearch(domain, network, ConfigOfSearch(domain.spec(), config))),
      arena_(static_cast<int>(*config.generate.workers)) {}

void OwnSolutionsGenerator::Fill(const FillRequest& request, DataBuffer& out,
                                 const StopSignal& stop) {
  solved_ = {};
  const std::int64_t end = (request.first_row + request.rows + walk_length_ - 1) / walk_length_;
  for (std::int64_t first = request.first_row / walk_length_; first < end; first += at_once_) {
    instances_.resize(static_cast<std::size_t>(std::min(at_once_, end - first)));
    const RowRanges tasks(std::ssize(instances_), kInstancesPerTask);
    const auto for_each = [&](const auto& work) {
      FillRanges(arena_, tasks, stop, [&](RowRange range) {
        for (std::int64_t i = range.first; i < range.first + range.rows; ++i) {
          work(instances_[static_cast<std::size_t>(i)], first + i);
        }
      });
    };
    for_each([&](Instance& instance, std::int64_t number) {
      instance.number = number;
      Walk(request, instance);
    });
    // The calling thread has a place of its own in the arena, so it makes the evaluations.
    arena_.execute([&] { Solve(instances_, request.first_row, stop); });
    for_each([&](Instance& instance, std::int64_t) { Write(request, instance, out); });
  }
}

// Takes the walk of an instance, without the steps that leave the state as it is and without goals
// on the way, and draws the start.
void OwnSolutionsGenerator::Walk(const FillRequest& request, Instance& instance) const {
  const Span span(Activity::kScramble);
  const auto random = [&](Purpose purpose) {
    return Random(seed_, purpose, request.update, instance.number);
  };
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain_.spec().state_size));
  RandomWalk walk(domain_, random(Purpose::kScramble), state, kind_);
  instance.states = state;
  instance.way_back.clear();
  for (std::int64_t i = 0; i < walk_length_; ++i) {
    walk.Step();
    if (std::ranges::equal(state, State(instance, instance.way_back.size()))) continue;
    instance.states.insert(instance.states.end(), state.begin(), state.end());
    instance.way_back.push_back(*walk.back());
  }
  KeepPartFromLastGoal(instance);
  std::ranges::reverse(instance.way_back);

  const std::int64_t longest =
      std::min(request.longest_scramble.value_or(walk_length_), std::ssize(instance.way_back));
  instance.start =
      longest == 0 ? 0 : 1 + random(Purpose::kRollout).Below(static_cast<std::uint64_t>(longest));
  instance.solution.clear();
}

// Shortens a walk to its part from the last goal on, since a goal needs no action and costs
// nothing. Goals at the end are dropped first.
void OwnSolutionsGenerator::KeepPartFromLastGoal(Instance& instance) const {
  const std::size_t states = instance.way_back.size() + 1;
  const auto size = static_cast<std::size_t>(domain_.spec().state_size);
  std::vector<std::uint8_t> is_goal(states);
  domain_.IsGoal(ConstRows(instance.states.data(), states, size), is_goal);
  std::size_t last = states - 1;
  while (last > 0 && is_goal[last] != 0) --last;
  std::size_t first = last;
  while (first > 0 && is_goal[first] == 0) --first;
  instance.states = {instance.states.data() + first * size,
                     instance.states.data() + (last + 1) * size};
  instance.way_back = {instance.way_back.data() + first, instance.way_back.data() + last};
}

std::span<const std::uint8_t> OwnSolutionsGenerator::State(const Instance& instance,
                                                           std::size_t taken) const {
  const auto size = static_cast<std::size_t>(domain_.spec().state_size);
  return std::span(instance.states).subspan(taken * size, size);
}

// The way back of the walk's state after `taken` actions.
std::span<const Action> OwnSolutionsGenerator::WayBack(const Instance& instance,
                                                       std::size_t taken) {
  return std::span(instance.way_back).last(taken);
}

// Searches from the starts. The request that has an instance's first row counts the instance.
void OwnSolutionsGenerator::Solve(std::span<Instance> instances, std::int64_t first_row,
                                  const StopSignal& stop) {
  std::vector<std::uint8_t> starts;
  std::vector<float> at_most;
  for (const Instance& instance : instances) {
    std::ranges::copy(State(instance, instance.start), std::back_inserter(starts));
    at_most.push_back(CostOf(domain_.spec(), WayBack(instance, instance.start)));
  }
  const ConstRows rows(starts.data(), instances.size(),
                       static_cast<std::size_t>(domain_.spec().state_size));
  search_->SolveAll(ProblemBatch(rows, at_most), stop, [&](std::size_t i, SearchResult result) {
    if (result.solved) instances[i].solution = std::move(result.actions);
    if (instances[i].number * walk_length_ < first_row) return;
    solved_.Add(static_cast<std::int64_t>(instances[i].start), result.solved);
  });
}

void OwnSolutionsGenerator::Write(const FillRequest& request, const Instance& instance,
                                  DataBuffer& out) const {
  const auto write = [&](std::size_t row, std::span<const std::uint8_t> state,
                         std::span<const Action> rest) {
    const std::int64_t in_fill =
        instance.number * walk_length_ + static_cast<std::int64_t>(row) - request.first_row;
    if (in_fill < 0 || in_fill >= request.rows) return;
    labels_.Write(state, rest, out, static_cast<std::size_t>(in_fill));
  };
  const auto rows = static_cast<std::size_t>(walk_length_);
  const std::span<const Action> solution = instance.solution;
  const std::span<const std::uint8_t> start = State(instance, instance.start);
  std::vector<std::uint8_t> state(start.begin(), start.end());
  for (std::size_t taken = 0; taken < solution.size(); ++taken) {
    const std::size_t row = solution.size() - taken - 1;
    if (row < rows) write(row, state, solution.subspan(taken));
    ApplyAll(domain_, solution.subspan(taken, 1), state);
  }
  for (std::size_t row = solution.size(); row < rows; ++row) {
    const std::size_t taken = std::min(row + 1, instance.way_back.size());
    write(row, State(instance, taken), WayBack(instance, taken));
  }
}

}  // namespace tandem
