// tandem solve --model RUN_DIR --states FILE
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/signals.h"
#include "apps/states_file.h"
#include "apps/terminal.h"
#include "base/file.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "run/model.h"
#include "run/resolve.h"
#include "search/beam_search.h"
#include "tandem/error.h"

namespace tandem {
namespace {

struct SolveResult {
  StateLine line;
  SearchResult search;
  double seconds = 0;
  std::string error;
};

// The run's config, with what depends on the machine worked out anew, and the user's changes.
TrainConfig ConfigForSolving(const RunDirectory& run, const SolveArgs& args) {
  std::vector<Override> overrides;
  for (const char* key : {"device", "train.threads", "evaluate.threads", "evaluate.precision"}) {
    overrides.push_back({key, "auto", "the default of `tandem solve`"});
  }
  overrides.insert(overrides.end(), args.overrides.begin(), args.overrides.end());
  return LoadConfig(run.config(), overrides);
}

// Throws Error if the moves do not lead to a goal: then search or domain is wrong, not the user.
void CheckByReplay(const Domain& domain, std::vector<std::uint8_t> state,
                   const std::vector<Action>& actions) {
  for (const Action action : actions) domain.Apply(Rows(std::span(state)), {&action, 1});
  std::uint8_t is_goal = 0;
  domain.IsGoal(Rows(std::span(state)), {&is_goal, 1});
  if (is_goal == 0) {
    throw Error(
        fmt::format("the moves {} do not solve the puzzle: a bug in the search or the domain",
                    FormatActions(domain.spec(), actions)));
  }
}

SolveResult SolveOne(StateLine line, const Domain& domain, BeamSearch& search,
                     const SearchConfig& config, const StopSignal& stop) {
  SolveResult result{.line = std::move(line)};
  if (!result.line.error.empty()) {
    result.error = result.line.error;
    return result;
  }
  const Stopwatch watch;
  result.search = search.Solve(result.line.state, stop);
  result.seconds = watch.Seconds();
  if (result.search.solved) {
    CheckByReplay(domain, result.line.state, result.search.actions);
  } else {
    result.error = fmt::format("no solution of at most {} moves found with beam width {}",
                               config.max_length, config.beam_width);
  }
  return result;
}

nlohmann::ordered_json ToJson(const SolveResult& result, const Domain& domain) {
  const bool solved = result.search.solved;
  nlohmann::ordered_json json = {{"id", result.line.id},
                                 {"state", result.line.text},
                                 {"solved", solved},
                                 {"moves", nullptr},
                                 {"length", nullptr}};
  if (solved) {
    json["moves"] = FormatActions(domain.spec(), result.search.actions);
    json["length"] = result.search.actions.size();
  }
  if (result.line.optimal) json["optimal"] = *result.line.optimal;
  json["nodes"] = result.search.nodes;
  json["seconds"] = result.seconds;
  json["error"] = nullptr;
  if (!result.error.empty()) json["error"] = result.error;
  return json;
}

std::string Describe(const SolveResult& result, const Domain& domain) {
  const std::string id =
      result.line.id.is_string() ? result.line.id.get<std::string>() : result.line.id.dump();
  if (!result.search.solved) return fmt::format("{:>6}  not solved: {}", id, result.error);
  const std::string optimal =
      result.line.optimal ? fmt::format(" (optimal {})", *result.line.optimal) : "";
  return fmt::format("{:>6}  {} moves{} in {}: {}", id, result.search.actions.size(), optimal,
                     HumanSeconds(result.seconds),
                     FormatActions(domain.spec(), result.search.actions));
}

std::string Summarise(const std::vector<SolveResult>& results) {
  std::size_t solved = 0, with_optimal = 0, optimal = 0;
  double length = 0, optimal_length = 0, seconds = 0, nodes = 0;
  for (const SolveResult& result : results) {
    seconds += result.seconds;
    nodes += static_cast<double>(result.search.nodes);
    if (!result.search.solved) continue;
    const auto moves = static_cast<double>(result.search.actions.size());
    ++solved;
    length += moves;
    if (!result.line.optimal) continue;
    ++with_optimal;
    optimal_length += *result.line.optimal;
    if (moves == *result.line.optimal) ++optimal;
  }
  const auto share = [](double part, std::size_t of) {
    return of == 0 ? 0.0 : part / static_cast<double>(of);
  };
  std::string table = fmt::format("\nsolved        {} of {}\n", solved, results.size());
  if (solved > 0) table += fmt::format("mean length   {:.2f}\n", share(length, solved));
  if (with_optimal > 0) {
    table += fmt::format("mean optimal  {:.2f}, reached by {} of {}\n",
                         share(optimal_length, with_optimal), optimal, with_optimal);
  }
  table += fmt::format("mean time     {} a puzzle\n", HumanSeconds(share(seconds, results.size())));
  if (seconds > 0) {
    table += fmt::format("nodes         {} generated, {} a second\n",
                         WithThousands(static_cast<long long>(nodes)),
                         WithThousands(static_cast<long long>(nodes / seconds)));
  }
  return table;
}

int Solve(const SolveArgs& args) {
  const RunDirectory run = RunDirectory::Open(args.model);
  const TrainConfig asked = ConfigForSolving(run, args);
  std::unique_ptr<Device> device = OpenDevice(asked.device);
  const TrainConfig config = ResolveAutos(asked, *device);
  Model model(run, config, std::move(device));
  const Domain& domain = model.domain();
  const std::vector<StateLine> lines = ReadStates(args.states, domain, args.limit);

  BeamSearch search(domain, model.evaluator(),
                    {.width = static_cast<std::size_t>(config.search.beam_width),
                     .max_length = static_cast<std::size_t>(config.search.max_length)});
  // People read standard output where they see it, or where --out takes the JSON lines.
  const bool for_people = !args.out.empty() || IsTerminal(STDOUT_FILENO);
  const StopOnSignals signals;
  std::vector<SolveResult> results;
  std::string json_lines;
  try {
    for (const StateLine& line : lines) {
      results.push_back(SolveOne(line, domain, search, config.search, signals.stop()));
      const std::string json = ToJson(results.back(), domain).dump() + "\n";
      json_lines += json;
      fmt::print("{}", for_people ? Describe(results.back(), domain) + "\n" : json);
      std::fflush(stdout);
    }
  } catch (const Stopped&) {
    fmt::print(stderr, "stopped after {} of {} states\n", results.size(), lines.size());
  }
  if (!args.out.empty()) WriteFileAtomically(args.out, json_lines);
  fmt::print(for_people ? stdout : stderr, "{}", Summarise(results));

  if (signals.caught() != 0) return kSignalBase + signals.caught();
  const auto bad_line = [](const SolveResult& r) { return !r.line.error.empty(); };
  const auto solved = [](const SolveResult& r) { return r.search.solved; };
  if (std::ranges::any_of(results, bad_line)) return kBadInput;
  return std::ranges::all_of(results, solved) ? kDone : kFailed;
}

}  // namespace
}  // namespace tandem

extern "C" int tandem::tandem_run_solve(const SolveArgs& args) { return Solve(args); }
