#include "apps/torch/solve_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/json.h"
#include "base/text.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

double BytesPerNode(const SearchResult& search) {
  return search.stored == 0
             ? 0.0
             : static_cast<double>(search.bytes) / static_cast<double>(search.stored);
}

ordered_json PartialToJson(const Partial& best, const std::string& start, const Domain& domain) {
  return {{"moves", domain.FormatMoves(best.actions, start)},
          {"length", best.actions.size()},
          {"cost", best.cost},
          {"estimate", best.estimate}};
}

std::string Memory(const std::vector<SolveResult>& results) {
  std::int64_t stored = 0;
  std::int64_t bytes = 0;
  std::int64_t most = 0;
  for (const SolveResult& result : results) {
    stored += result.search.stored;
    bytes += result.search.bytes;
    most = std::max(most, result.search.bytes);
  }
  if (stored == 0) return "";
  return fmt::format("memory        {:.0f} bytes per stored node, at most {} for one puzzle\n",
                     static_cast<double>(bytes) / static_cast<double>(stored),
                     HumanBytes(static_cast<double>(most)));
}

// Returns "not solved    3: 2 at the node limit, 1 exhausted", or "" if every search succeeded.
std::string NotSolved(const std::vector<SolveResult>& results) {
  std::string reasons;
  std::size_t unsolved = 0;
  for (const StopReason why :
       {StopReason::kNodeLimit, StopReason::kMemoryLimit, StopReason::kTimeLimit,
        StopReason::kLengthLimit, StopReason::kCostLimit, StopReason::kExhausted}) {
    const auto count = std::ranges::count_if(results, [&](const SolveResult& result) {
      return result.line.error.empty() && !result.search.solved && result.search.stop_reason == why;
    });
    if (count == 0) continue;
    unsolved += static_cast<std::size_t>(count);
    reasons += fmt::format("{}{} {}{}", reasons.empty() ? "" : ", ", count,
                           why == StopReason::kExhausted ? "" : "at the ", NameOf(why));
  }
  return reasons.empty() ? "" : fmt::format("not solved    {}: {}\n", unsolved, reasons);
}

std::string NotSearched(const std::vector<SolveResult>& results) {
  const auto count = std::ranges::count_if(
      results, [](const SolveResult& result) { return !result.line.error.empty(); });
  return count == 0 ? "" : fmt::format("not a state   {}\n", Counted(count, "line"));
}

// Returns the line that compares solutions with shortest ones, or "" if no shortest one is known.
// `solved` is the number of states solved, with and without `optimal`.
std::string ComparedWithOptimal(const std::vector<SolveOutcome>& with_optimal,
                                std::int64_t solved) {
  const SolveFigures figures = Summarise(with_optimal, /*seconds=*/0);
  if (!figures.known) return "";
  const std::string theirs =
      figures.solved == solved ? "" : fmt::format(", their mean {:.2f}", figures.mean_length);
  return fmt::format("mean optimal  {:.2f}, reached by {} of {}{}\n", figures.known->mean_length,
                     figures.known->optimal, figures.known->states, theirs);
}

}  // namespace

SolveOutcome OutcomeOf(const Problem& problem, const SearchResult& search) {
  return {.solved = search.solved,
          .length = std::ssize(search.actions),
          .nodes = search.nodes,
          .seconds = search.seconds,
          .optimal = problem.optimal,
          .best_known = problem.best_known};
}

nlohmann::ordered_json ToJson(const SolveResult& result, const Domain& domain) {
  const SearchResult& search = result.search;
  ordered_json json = {{"id", result.line.id},
                       {"state", result.line.text},
                       {"solved", search.solved},
                       {"moves", nullptr},
                       {"length", nullptr}};
  if (search.solved) {
    json["moves"] = domain.FormatMoves(search.actions, result.line.text);
    json["length"] = search.actions.size();
  }
  if (result.line.optimal) json["optimal"] = *result.line.optimal;
  json["cost"] = search.solved ? ordered_json(search.cost) : ordered_json();
  json["ended"] =
      result.line.error.empty() ? ordered_json(NameOf(search.stop_reason)) : ordered_json();
  json["best"] =
      search.best ? PartialToJson(*search.best, result.line.text, domain) : ordered_json();
  json["nodes"] = search.nodes;
  json["expanded"] = search.expanded;
  json["stored"] = search.stored;
  json["bytes_per_node"] = BytesPerNode(search);
  json["seconds"] = search.seconds;
  json["error"] = result.error.empty() ? ordered_json() : ordered_json(result.error);
  return json;
}

std::string DescribeResult(const SolveResult& result, const Domain& domain) {
  const SearchResult& search = result.search;
  const std::string id =
      result.line.id.is_string() ? result.line.id.get<std::string>() : DumpJson(result.line.id);
  if (!search.solved) {
    const std::string best = search.best
                                 ? fmt::format("; best: estimate {:.2f}, after {} moves",
                                               search.best->estimate, search.best->actions.size())
                                 : "";
    return fmt::format("{:>6}  not solved: {}{}", id, result.error, best);
  }
  const std::string optimal =
      result.line.optimal ? fmt::format(" (optimal {})", *result.line.optimal) : "";
  return fmt::format("{:>6}  {} moves{} in {}: {}", id, search.actions.size(), optimal,
                     HumanSeconds(search.seconds),
                     domain.FormatMoves(search.actions, result.line.text));
}

std::string DescribeResults(const std::vector<SolveResult>& results, double seconds) {
  std::vector<SolveOutcome> searched;
  std::vector<SolveOutcome> with_optimal;  // solved states whose shortest length is known
  std::int64_t expanded = 0;
  for (const SolveResult& result : results) {
    if (!result.line.error.empty()) continue;
    searched.push_back(OutcomeOf(result.line, result.search));
    if (searched.back().solved && searched.back().optimal) with_optimal.push_back(searched.back());
    expanded += result.search.expanded;
  }
  const SolveFigures figures = Summarise(searched, seconds);
  std::string table = fmt::format("\nsolved        {} of {}\n", figures.solved, results.size());
  table += NotSolved(results) + NotSearched(results);
  if (figures.solved > 0) {
    table += fmt::format("mean length   {:.2f}\n", figures.mean_length);
  }
  table += ComparedWithOptimal(with_optimal, figures.solved);
  if (figures.states > 0) {
    table += fmt::format("mean time     {} a puzzle\n", HumanSeconds(figures.mean_s()));
  }
  if (seconds > 0) {
    table +=
        fmt::format("nodes         {} generated, {} per second\n", WithThousands(figures.nodes),
                    WithThousands(static_cast<long long>(figures.nodes_per_s())));
    table += fmt::format("expanded      {} states\n", WithThousands(expanded));
  }
  return table + Memory(results);
}

}  // namespace tandem
