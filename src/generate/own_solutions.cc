#include "generate/own_solutions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/random.h"
#include "base/timeline.h"
#include "data/examples.h"
#include "domain/random_walks.h"
#include "generate/row_ranges.h"
#include "generate/walk_generator.h"
#include "search/beam_search.h"

namespace tandem {
namespace {

constexpr std::size_t kInstancesPerTask = 8;

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
    const RowRanges tasks(std::ssize(instances_),
                          static_cast<std::int64_t>(domain_.spec().TaskRows(kInstancesPerTask)));
    const auto for_tasks = [&](const auto& work) {
      FillRanges(arena_, tasks, stop, [&](RowRange range) {
        work(std::span(instances_)
                 .subspan(static_cast<std::size_t>(range.first),
                          static_cast<std::size_t>(range.rows)));
      });
    };
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      instances_[i].number = first + static_cast<std::int64_t>(i);
    }
    for_tasks([&](std::span<Instance> instances) { Walk(request, instances); });
    // The calling thread has a place of its own in the arena, so it makes the evaluations.
    arena_.execute([&] { Solve(instances_, request.first_row, stop); });
    for_tasks([&](std::span<Instance> instances) { Write(request, instances, out); });
  }
}

// Takes the walks of instances, without the steps that leave the state as it is and without goals
// on the way, and draws the starts.
void OwnSolutionsGenerator::Walk(const FillRequest& request, std::span<Instance> instances) const {
  const Span span(Activity::kScramble);
  std::vector<Random> randoms;
  for (const Instance& instance : instances) {
    randoms.emplace_back(seed_, Purpose::kScramble, request.update, instance.number);
  }
  RandomWalks walks(domain_, kind_);
  walks.Begin(randoms, std::vector<std::int64_t>(instances.size(), walk_length_));
  for (std::size_t i = 0; i < instances.size(); ++i) {
    instances[i].states.assign(walks.state(i).begin(), walks.state(i).end());
    instances[i].way_back.clear();
  }
  while (walks.Step()) {
    for (std::size_t i = 0; i < instances.size(); ++i) {
      Instance& instance = instances[i];
      const std::span<const std::uint8_t> state = walks.state(i);
      if (std::ranges::equal(state, State(instance, instance.way_back.size()))) continue;
      instance.states.insert(instance.states.end(), state.begin(), state.end());
      instance.way_back.push_back(*walks.back(i));
    }
  }
  KeepPartsFromLastGoal(instances);
  for (Instance& instance : instances) {
    std::ranges::reverse(instance.way_back);
    DrawStart(request, instance);
  }
}

void OwnSolutionsGenerator::DrawStart(const FillRequest& request, Instance& instance) const {
  Random random(seed_, Purpose::kRollout, request.update, instance.number);
  const std::int64_t longest =
      std::min(request.longest_scramble.value_or(walk_length_), std::ssize(instance.way_back));
  instance.start = longest == 0 ? 0 : 1 + random.Below(static_cast<std::uint64_t>(longest));
  instance.solution.clear();
}

// Shortens each walk to its part from the last goal on, since a goal needs no action and costs
// nothing. Goals at the end are dropped first.
void OwnSolutionsGenerator::KeepPartsFromLastGoal(std::span<Instance> instances) const {
  const std::size_t size = StateSize();
  std::vector<std::uint8_t> all;
  for (const Instance& instance : instances) {
    all.insert(all.end(), instance.states.begin(), instance.states.end());
  }
  std::vector<std::uint8_t> flags(all.size() / size);
  domain_.IsGoal(ConstRows(all.data(), flags.size(), size), flags);
  const std::uint8_t* is_goal = flags.data();
  for (Instance& instance : instances) {
    const std::size_t states = instance.way_back.size() + 1;
    std::size_t last = states - 1;
    while (last > 0 && is_goal[last] != 0) --last;
    std::size_t first = last;
    while (first > 0 && is_goal[first] == 0) --first;
    instance.states = {instance.states.data() + first * size,
                       instance.states.data() + (last + 1) * size};
    instance.way_back = {instance.way_back.data() + first, instance.way_back.data() + last};
    is_goal += states;
  }
}

std::span<const std::uint8_t> OwnSolutionsGenerator::State(const Instance& instance,
                                                           std::size_t taken) const {
  return std::span(instance.states).subspan(taken * StateSize(), StateSize());
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
  const ConstRows rows(starts.data(), instances.size(), StateSize());
  search_->SolveAll(ProblemBatch(rows, at_most), stop, [&](std::size_t i, SearchResult result) {
    if (result.solved) instances[i].solution = std::move(result.actions);
    if (instances[i].number * walk_length_ < first_row) return;
    solved_.Add(static_cast<std::int64_t>(instances[i].start), result.solved);
  });
}

void OwnSolutionsGenerator::Write(const FillRequest& request, std::span<const Instance> instances,
                                  DataBuffer& out) const {
  std::vector<std::uint8_t> states;
  std::vector<PathRow> paths;
  const auto add = [&](const Instance& instance, std::size_t row,
                       std::span<const std::uint8_t> state, std::span<const Action> rest) {
    const std::int64_t in_fill =
        instance.number * walk_length_ + static_cast<std::int64_t>(row) - request.first_row;
    if (std::cmp_greater_equal(row, walk_length_) || in_fill < 0 || in_fill >= request.rows) return;
    states.insert(states.end(), state.begin(), state.end());
    paths.push_back({.row = static_cast<std::size_t>(in_fill), .rest = rest});
  };
  ReplaySolutions(instances, [&](const Instance& instance, std::size_t taken,
                                 std::span<const std::uint8_t> state) {
    const std::span<const Action> rest = std::span(instance.solution).subspan(taken);
    add(instance, rest.size() - 1, state, rest);
  });
  for (const Instance& instance : instances) {
    for (auto row = std::ssize(instance.solution); row < walk_length_; ++row) {
      const std::size_t taken =
          std::min(static_cast<std::size_t>(row) + 1, instance.way_back.size());
      add(instance, static_cast<std::size_t>(row), State(instance, taken),
          WayBack(instance, taken));
    }
  }
  labels_.Write(ConstRows(states.data(), paths.size(), StateSize()), paths, out);
}

// Calls visit(instance, taken, state) for the state before each action of each solution, `taken`
// actions after the start. The solutions advance in lock step.
void OwnSolutionsGenerator::ReplaySolutions(std::span<const Instance> instances,
                                            const auto& visit) const {
  std::vector<const Instance*> open;
  std::vector<std::uint8_t> memory;
  for (const Instance& instance : instances) {
    if (instance.solution.empty()) continue;
    open.push_back(&instance);
    std::ranges::copy(State(instance, instance.start), std::back_inserter(memory));
  }
  for (std::size_t taken = 0; !open.empty(); ++taken) {
    const Rows states(memory.data(), open.size(), StateSize());
    std::vector<Action> actions;
    for (std::size_t i = 0; i < open.size(); ++i) {
      visit(*open[i], taken, states[i]);
      actions.push_back(open[i]->solution[taken]);
    }
    domain_.Apply(states, actions);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i]->solution.size() == taken + 1) continue;
      std::ranges::copy(states[i], states[kept].begin());
      open[kept++] = open[i];
    }
    open.resize(kept);
  }
}

}  // namespace tandem
