#include "compare/solve_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace tandem {
namespace {

template <class Part, class Whole>
double Share(Part part, Whole whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Sums over the states of one length, or of all lengths.
struct Sums {
  std::int64_t states = 0;
  std::int64_t solved = 0;
  std::int64_t estimated = 0;  // states that have an estimate
  double estimates = 0;
  double squared_errors = 0;

  void Add(const SolveOutcome& outcome) {
    ++states;
    if (outcome.solved) ++solved;
    if (!outcome.estimate) return;
    ++estimated;
    const double error = *outcome.estimate - outcome.cost;
    estimates += *outcome.estimate;
    squared_errors += error * error;
  }

  std::optional<EstimateFigures> Estimates() const {
    if (estimated == 0) return std::nullopt;
    return EstimateFigures{.mean = Share(estimates, estimated),
                           .error = std::sqrt(Share(squared_errors, estimated))};
  }
};

std::optional<KnownLengthFigures> SummariseKnown(std::span<const SolveOutcome> outcomes) {
  KnownLengthFigures known;
  Sums all;
  std::map<std::int64_t, Sums> by_length;
  double lengths = 0;
  for (const SolveOutcome& outcome : outcomes) {
    if (!outcome.optimal) continue;
    all.Add(outcome);
    by_length[*outcome.optimal].Add(outcome);
    lengths += static_cast<double>(*outcome.optimal);
    if (outcome.solved && outcome.length == *outcome.optimal) ++known.optimal;
  }
  if (all.states == 0) return std::nullopt;
  known.states = all.states;
  known.mean_length = Share(lengths, all.states);
  known.estimates = all.Estimates();
  for (const auto& [length, sums] : by_length) {
    known.by_length.push_back({.length = length,
                               .states = sums.states,
                               .solved = sums.solved,
                               .estimates = sums.Estimates()});
  }
  return known;
}

std::optional<BestKnownFigures> SummariseBestKnown(std::span<const SolveOutcome> outcomes) {
  BestKnownFigures figures;
  double ratios = 0;
  for (const SolveOutcome& outcome : outcomes) {
    if (!outcome.solved || outcome.best_known.value_or(0) == 0) continue;
    ++figures.states;
    ratios += Share(outcome.length, *outcome.best_known);
  }
  if (figures.states == 0) return std::nullopt;
  figures.mean_ratio = Share(ratios, figures.states);
  return figures;
}

}  // namespace

double LengthFigures::solve_rate() const { return Share(solved, states); }
double KnownLengthFigures::share_optimal() const { return Share(optimal, states); }
double SolveFigures::solve_rate() const { return Share(solved, states); }
double SolveFigures::nodes_per_s() const {
  return seconds > 0 ? static_cast<double>(nodes) / seconds : 0.0;
}
double SolveFigures::mean_s() const { return Share(seconds, states); }

SolveFigures Summarise(std::span<const SolveOutcome> outcomes, double seconds) {
  SolveFigures figures{.states = std::ssize(outcomes), .seconds = seconds, .known = {}};
  double lengths = 0;
  for (const SolveOutcome& outcome : outcomes) {
    figures.nodes += outcome.nodes;
    figures.slowest_s = std::max(figures.slowest_s, outcome.seconds);
    if (!outcome.solved) continue;
    ++figures.solved;
    lengths += static_cast<double>(outcome.length);
  }
  figures.mean_length = Share(lengths, figures.solved);
  figures.known = SummariseKnown(outcomes);
  figures.best_known = SummariseBestKnown(outcomes);
  return figures;
}

bool SolvesBetter(const SolveFigures& figures, const SolveFigures& than) {
  const auto key = [](const SolveFigures& f) {
    return std::tuple(f.solved, -f.mean_length, -f.nodes);
  };
  return key(figures) > key(than);
}

}  // namespace tandem
