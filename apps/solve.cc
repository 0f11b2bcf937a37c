// tandem solve --model RUN_DIR --states FILE
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/commands.h"
#include "apps/plain_errors.h"
#include "apps/signals.h"
#include "apps/states_file.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "base/terminal.h"
#include "base/text.h"
#include "run/model.h"
#include "run/resolve.h"
#include "run/run_directory.h"
#include "search/q_beam_search.h"
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

// Where results go as they come: JSON lines to --out or to standard output, and lines for people to
// standard output where they see it.
class ResultWriter {
 public:
  // Throws InputError if --out cannot be written, before any work is done.
  explicit ResultWriter(const SolveArgs& args)
      : for_people_(!args.out.empty() || IsTerminal(STDOUT_FILENO)) {
    if (args.out.empty()) return;
    std::error_code ignored;
    if (std::filesystem::equivalent(args.out, args.states, ignored)) {
      throw InputError(fmt::format("--out {} is the file of the states", args.out));
    }
    try {
      file_.emplace(args.out);
    } catch (const Error& error) {
      throw InputError(error.what());
    }
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not cost the file
  }

  void Write(const SolveResult& result, const Domain& domain) {
    const std::string line =
        ToJson(result, domain).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
        "\n";
    if (file_) file_->Write(line);
    std::fputs(for_people_ ? (Describe(result, domain) + "\n").c_str() : line.c_str(), stdout);
    std::fflush(stdout);
  }

  void Finish(const std::vector<SolveResult>& results) {
    if (file_) file_->Commit();
    std::fputs(Summarise(results).c_str(), for_people_ ? stdout : stderr);
  }

 private:
  bool for_people_;
  std::optional<AtomicFile> file_;
};

int ExitCodeFor(const std::vector<SolveResult>& results) {
  const auto bad_line = [](const SolveResult& r) { return !r.line.error.empty(); };
  const auto solved = [](const SolveResult& r) { return r.search.solved; };
  if (std::ranges::any_of(results, bad_line)) return kBadInput;
  return std::ranges::all_of(results, solved) ? kDone : kFailed;
}

int Solve(const SolveArgs& args) {
  const RunDirectory run = RunDirectory::Open(args.model);
  const TrainConfig asked = ConfigForSolving(run, args);
  std::unique_ptr<Device> device = OpenDevice(asked.device);
  const TrainConfig config = ResolveAutos(asked, *device);
  Model model(run.checkpoint(), config, std::move(device));
  if (model.iterations() == 0) LogWarning("this network was stopped before it learned anything");
  const Domain& domain = model.domain();
  const std::vector<StateLine> lines = ReadStates(args.states, domain, args.limit);
  ResultWriter writer(args);

  const BeamOptions options{.width = static_cast<std::size_t>(config.search.beam_width),
                            .max_length = static_cast<std::size_t>(config.search.max_length),
                            .evaluate_rows = static_cast<std::size_t>(config.evaluate.batch_rows)};
  const std::unique_ptr<BeamSearch> beam =
      config.network.head == Head::kQ
          ? std::make_unique<QBeamSearch>(domain, model.evaluator(), options)
          : std::make_unique<BeamSearch>(domain, model.evaluator(), options);
  BeamSearch& search = *beam;
  const StopOnSignals signals;
  std::vector<SolveResult> results;
  try {
    for (const StateLine& line : lines) {
      results.push_back(SolveOne(line, domain, search, config.search, signals.stop()));
      writer.Write(results.back(), domain);
    }
  } catch (const Stopped&) {
    LogWarning(fmt::format("stopped after {} of {} states", results.size(), lines.size()));
  }
  writer.Finish(results);
  return signals.caught() != 0 ? kSignalBase + signals.caught() : ExitCodeFor(results);
}

}  // namespace
}  // namespace tandem

extern "C" int tandem::tandem_run_solve(const SolveArgs& args) {
  return WithPlainErrors([&] { return Solve(args); });
}
