// tandem solve --model RUN_DIR --states FILE
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/commands.h"
#include "apps/plain_errors.h"
#include "apps/signals.h"
#include "apps/solve_report.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "run/model.h"
#include "run/resolve.h"
#include "run/run_directory.h"
#include "run/states_file.h"
#include "search/astar.h"
#include "search/q_beam_search.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The run's config, with what depends on the machine worked out anew, and the user's changes.
TrainConfig ConfigForSolving(const RunDirectory& run, const SolveArgs& args) {
  std::vector<Override> overrides;
  for (const char* key : {"device", "train.threads", "evaluate.threads", "evaluate.precision"}) {
    overrides.push_back({key, "auto", "the default of `tandem solve`"});
  }
  overrides.insert(overrides.end(), args.overrides.begin(), args.overrides.end());
  return LoadConfig(run.config(), overrides);
}

// Memory grows with the nodes, so who sets a limit should know what it stands for.
void AnnounceAStar(const AStarOptions& options, const DomainSpec& spec) {
  std::string text = fmt::format("A*: weight {:g}, {} states at a time", options.weight,
                                 WithThousands(static_cast<long long>(options.batch)));
  if (options.instances > 1) text += fmt::format(" of each of {} puzzles", options.instances);
  if (options.max_nodes == 0) {
    text += fmt::format(", {} bytes a node and no limit", AStarBytesPerNode(spec));
  } else {
    const auto nodes = static_cast<double>(options.max_nodes);
    const double bytes = nodes * static_cast<double>(AStarBytesPerNode(spec));
    text += fmt::format("; at most {} nodes, which take {}{}",
                        WithThousands(static_cast<long long>(options.max_nodes)), HumanBytes(bytes),
                        options.instances > 1 ? ", for each" : "");
  }
  LogInfo(text);
}

std::unique_ptr<Search> MakeBeamSearch(const TrainConfig& config, Model& model) {
  const BeamOptions options = {
      .width = static_cast<std::size_t>(config.search.beam_width),
      .max_length = static_cast<std::size_t>(config.search.max_length),
      .max_seconds = config.search.max_seconds,
      .evaluate_rows = static_cast<std::size_t>(config.evaluate.batch_rows)};
  if (config.network.head == Head::kQ) {
    return std::make_unique<QBeamSearch>(model.domain(), model.evaluator(), options);
  }
  return std::make_unique<BeamSearch>(model.domain(), model.evaluator(), options);
}

std::unique_ptr<Search> MakeAStar(const TrainConfig& config, Model& model) {
  const SearchConfig& search = config.search;
  const AStarOptions options = {
      .weight = static_cast<float>(search.weight),
      .batch = static_cast<std::size_t>(search.batch),
      .instances = static_cast<std::size_t>(search.instances),
      .max_nodes = static_cast<std::size_t>(search.max_nodes),
      .max_seconds = search.max_seconds,
      .evaluate_rows = static_cast<std::size_t>(config.evaluate.batch_rows)};
  AnnounceAStar(options, model.domain().spec());
  return std::make_unique<AStar>(model.domain(), model.evaluator(), options);
}

// Why there is no solution, and what may help, for the user.
std::string Failure(const SearchResult& result, const SearchConfig& config) {
  const bool astar = config.method == SearchMethod::kAStar;
  const std::string hint = astar && config.weight > 0 ? ", a lower search.weight takes less" : "";
  switch (result.ended) {
    case Ended::kSolved:
      return "";
    case Ended::kNodeLimit:
      return fmt::format("no solution found with {} nodes (search.max_nodes){}",
                         WithThousands(config.max_nodes), hint);
    case Ended::kTimeLimit:
      return fmt::format("no solution found in {} (search.max_seconds){}",
                         HumanSeconds(config.max_seconds), hint);
    case Ended::kLengthLimit:
      return fmt::format("no solution of at most {} moves found with beam width {}",
                         config.max_length, config.beam_width);
    case Ended::kExhausted:
      break;
  }
  if (astar) {
    return fmt::format("it has no solution: none of the {} states that it leads to is a goal",
                       WithThousands(result.stored));
  }
  return fmt::format("no new states left with beam width {}", config.beam_width);
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

// The results of a file's lines, written in the order of the lines, whatever the order in which
// searches end.
class Results {
 public:
  Results(const std::vector<StateLine>& lines, const Domain& domain, ResultWriter& writer)
      : domain_(domain), writer_(writer), waiting_(lines.size()) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].error.empty()) continue;
      waiting_[i] = {.line = lines[i], .search = {}, .error = lines[i].error};
    }
    WriteReady();
  }

  void Add(std::size_t line, SolveResult result) {
    waiting_[line] = std::move(result);
    WriteReady();
  }

  // What waits for lines that will not come.
  void WriteRest() {
    for (; next_ < waiting_.size(); ++next_) {
      if (waiting_[next_]) WriteNext();
    }
  }

  const std::vector<SolveResult>& written() const { return written_; }

 private:
  void WriteReady() {
    for (; next_ < waiting_.size() && waiting_[next_]; ++next_) WriteNext();
  }

  void WriteNext() {
    written_.push_back(std::move(*waiting_[next_]));
    writer_.Write(written_.back(), domain_);
  }

  const Domain& domain_;
  ResultWriter& writer_;
  std::vector<std::optional<SolveResult>> waiting_;  // by line
  std::size_t next_ = 0;                             // the first not written
  std::vector<SolveResult> written_;
};

void SolveLines(const std::vector<StateLine>& lines, const Domain& domain, Search& search,
                const SearchConfig& config, const StopSignal& stop, Results& results) {
  std::vector<std::size_t> numbers;  // of the lines that hold states
  std::vector<std::uint8_t> states;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].error.empty()) continue;
    numbers.push_back(i);
    states.insert(states.end(), lines[i].state.begin(), lines[i].state.end());
  }
  const ConstRows starts(states.data(), numbers.size(), domain.spec().state_size);
  search.SolveAll(starts, stop, [&](std::size_t i, SearchResult result) {
    const StateLine& line = lines[numbers[i]];
    if (result.solved) CheckByReplay(domain, line.state, result.actions);
    std::string error = result.solved ? "" : Failure(result, config);
    results.Add(numbers[i], {.line = line, .search = std::move(result), .error = std::move(error)});
  });
}

int ExitCodeFor(const std::vector<SolveResult>& results) {
  const auto bad_line = [](const SolveResult& r) { return !r.line.error.empty(); };
  const auto solved = [](const SolveResult& r) { return r.search.solved; };
  if (std::ranges::any_of(results, bad_line)) return kBadInput;
  return std::ranges::all_of(results, solved) ? kDone : kFailed;
}

std::filesystem::path CheckpointOf(const RunDirectory& run, const std::string& which) {
  if (which == "last") return run.checkpoint();
  const std::filesystem::path path = which == "best" ? run.best() : CheckpointIn(which);
  if (std::filesystem::exists(path)) return path;
  throw InputError(which == "best"
                       ? fmt::format("{} has no best.pt: it was not validated (set "
                                     "validation.every_updates to more than 0)",
                                     run.path().string())
                       : fmt::format("--checkpoint {}: expected last, best or a file", which));
}

int Solve(const SolveArgs& args) {
  const RunDirectory run = RunDirectory::Open(args.model);
  const TrainConfig asked = ConfigForSolving(run, args);
  std::unique_ptr<Device> device = OpenDevice(asked.device);
  const TrainConfig config = ResolveAutos(asked, *device);
  Model model(CheckpointOf(run, args.checkpoint), config, std::move(device));
  if (model.iterations() == 0) LogWarning("this network was stopped before it learned anything");
  const Domain& domain = model.domain();
  const std::vector<StateLine> lines = ReadStates(args.states, domain, args.limit);
  ResultWriter writer(args);

  const bool astar = config.search.method == SearchMethod::kAStar;
  const std::unique_ptr<Search> search =
      astar ? MakeAStar(config, model) : MakeBeamSearch(config, model);
  const StopOnSignals signals;
  const Stopwatch watch;
  Results results(lines, domain, writer);
  try {
    SolveLines(lines, domain, *search, config.search, signals.stop(), results);
  } catch (const Stopped&) {
    results.WriteRest();
    LogWarning(
        fmt::format("stopped after {} of {} states", results.written().size(), lines.size()));
  }
  writer.Finish(results.written(), watch.Seconds());
  return signals.caught() != 0 ? kSignalBase + signals.caught() : ExitCodeFor(results.written());
}

}  // namespace
}  // namespace tandem

extern "C" int tandem::tandem_run_solve(const SolveArgs& args) {
  return WithPlainErrors([&] { return Solve(args); });
}
