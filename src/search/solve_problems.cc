#include "search/solve_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The largest cost of a solution that is worth looking for. 0: no limit.
float AllowedCost(const Problem& problem, const DomainSpec& spec) {
  if (problem.solution.empty()) return problem.at_most;
  const float known = CostOf(spec, problem.solution);
  return problem.at_most > 0 ? std::min(problem.at_most, known) : known;
}

// A solution with fewer moves than a shortest one proves the file of states wrong.
void WarnOfWrongOptimal(const Problem& problem, const SearchResult& result) {
  const std::int64_t moves = std::ssize(result.actions);
  if (!result.solved || !problem.optimal || moves >= *problem.optimal) return;
  LogWarning(
      fmt::format("state {}: `optimal` is {}, but a solution has {}; correct the file of states",
                  DumpJson(problem.id), *problem.optimal, Counted(moves, "move")));
}

}  // namespace

void SolveProblems(const std::vector<Problem>& problems, const Domain& domain, Search& search,
                   const StopSignal& stop, const Search::Done& done) {
  std::vector<std::size_t> numbers;  // indices of the problems with a valid state
  std::vector<std::uint8_t> states;
  std::vector<float> at_most;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (!problems[i].error.empty()) continue;
    numbers.push_back(i);
    at_most.push_back(AllowedCost(problems[i], domain.spec()));
    states.insert(states.end(), problems[i].state.begin(), problems[i].state.end());
  }
  const ConstRows starts(states.data(), numbers.size(), domain.spec().state_size);
  SolveAndReplay(domain, search, {starts, at_most}, stop, [&](std::size_t i, SearchResult result) {
    WarnOfWrongOptimal(problems[numbers[i]], result);
    done(numbers[i], std::move(result));
  });
}

void SolveAndReplay(const Domain& domain, Search& search, const ProblemBatch& problems,
                    const StopSignal& stop, const Search::Done& done) {
  search.SolveAll(problems, stop, [&](std::size_t i, SearchResult result) {
    if (result.solved) CheckByReplay(domain, problems.states[i], result.actions);
    done(i, std::move(result));
  });
}

void CheckByReplay(const Domain& domain, std::span<const std::uint8_t> start,
                   const std::vector<Action>& actions) {
  std::vector<std::uint8_t> state(start.begin(), start.end());
  ApplyAll(domain, actions, state);
  if (!IsGoal(domain, state)) {
    throw Error(
        fmt::format("the moves {} do not solve the puzzle: a bug in the search or the domain",
                    FormatActions(domain.spec(), actions)));
  }
}

}  // namespace tandem
