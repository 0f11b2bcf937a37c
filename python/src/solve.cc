#include "solve.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "config/config.h"
#include "domain.h"
#include "interrupt.h"
#include "python_evaluator.h"
#include "search/problems.h"

namespace tandem::python {
namespace {

std::vector<Solution> Solve(const Puzzle& puzzle, nb::handle states, nb::handle evaluate,
                            const Config& config) {
  const Domain& domain = *puzzle.domain;
  const StateBatch batch(states, static_cast<std::size_t>(puzzle.spec().state_size));
  std::optional<PythonEvaluator> evaluator;
  std::unique_ptr<Search> search;
  return SolveInterruptibly(
      domain, batch.rows(),
      [&](const StopSignal& stop, const Search::Done& done) {
        evaluator.emplace(evaluate, domain.spec(), config.network.head,
                          config.inference.rows_at_once(), stop);
        search = MakeSearch(domain, *evaluator, config);
        SolveAndReplay(domain, *search, batch.rows(), stop, done);
      },
      [&](const SearchResult& result) { return search->Failure(result); });
}

void BindSolution(nb::module_& module) {
  nb::class_<Solution>(module, "Solution", "The outcome of the search for one state.")
      .def_prop_ro(
          "solved", [](const Solution& s) { return s.search.solved; }, "Whether it was solved.")
      .def_ro("moves", &Solution::moves, "The names of the actions, separated by spaces.")
      .def_prop_ro(
          "actions", [](const Solution& s) { return s.search.actions; },
          "The indices of the actions, from the state to a goal.")
      .def_prop_ro(
          "best_actions",
          [](const Solution& s) {
            return s.search.best ? s.search.best->actions : std::vector<Action>();
          },
          "The actions of the best path that was found, if it was not solved; else empty. Of a "
          "game, the best move.")
      .def_prop_ro(
          "length", [](const Solution& s) { return s.search.actions.size(); },
          "The number of actions; 0 if it was not solved.")
      .def_prop_ro(
          "cost", [](const Solution& s) { return s.search.cost; }, "The cost of the actions.")
      .def_prop_ro(
          "ended", [](const Solution& s) { return std::string(NameOf(s.search.stop_reason)); },
          R"(Why the search ended: "solved", or a limit such as "node limit".)")
      .def_ro("failure", &Solution::failure,
              "Why there is no solution and which settings to change; empty if it was solved.")
      .def_prop_ro(
          "nodes", [](const Solution& s) { return s.search.nodes; }, "States generated.")
      .def_prop_ro(
          "seconds", [](const Solution& s) { return s.search.seconds; },
          "Wall time, including work on states that were solved at the same time.")
      .def("__repr__", [](const Solution& s) {
        return s.search.solved ? fmt::format("<tandem.Solution of {} moves: {}>",
                                             s.search.actions.size(), s.moves)
                               : fmt::format("<tandem.Solution: {}>", s.failure);
      });
}

}  // namespace

std::vector<Solution> SolveInterruptibly(
    const Domain& domain, ConstRows states,
    const std::function<void(const StopSignal&, const Search::Done&)>& solve_all,
    const std::function<std::string(const SearchResult&)>& failure) {
  std::vector<Solution> solutions(states.size());
  StopSignal stop;
  RunInterruptibly(stop, [&] {
    CheckStates(domain, states);
    try {
      solve_all(stop, [&](std::size_t number, SearchResult result) {
        solutions[number].search = std::move(result);
      });
    } catch (const Stopped&) {  // the interrupt is raised after this
      return;
    }
    for (std::size_t i = 0; i < solutions.size(); ++i) {
      Solution& solution = solutions[i];
      solution.moves = domain.FormatMoves(solution.search.actions, domain.FormatState(states[i]));
      if (!solution.search.solved) solution.failure = failure(solution.search);
    }
  });
  return solutions;
}

void BindSolve(nb::module_& module) {
  BindSolution(module);
  module.def("solve", &Solve, nb::arg("domain"), nb::arg("states"), nb::arg("evaluate"),
             nb::arg("config"), "Solves states by a Python function; `tandem.solve` calls it.");
}

}  // namespace tandem::python
