// tandem evaluate RUN --states FILE
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/output.h"
#include "apps/torch_library.h"
#include "base/json.h"
#include "base/log.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "config/fields.h"
#include "nn/torch_message.h"
#include "report/evaluation.h"
#include "report/run_record.h"
#include "search/costs.h"
#include "search/evaluation.h"
#include "search/problems.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "train/checkpoint.h"
#include "train/loaded_model.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAll = "all";
constexpr const char* kOption = "--checkpoints";

// Returns the networks that the options name, without their figures, in the order of training. Each
// one is there once: the best network of a run may also be its last, which a message then says.
std::vector<EvaluatedNetwork> NetworksOf(const EvaluateArgs& args, const RunDirectory& run) {
  std::vector<EvaluatedNetwork> networks;
  std::map<std::string, std::string> names;  // of the networks, by the SHA-256 of their weights
  const auto add = [&](const std::string& name, const fs::path& file) {
    const Checkpoint checkpoint(file);
    const auto [known, is_new] = names.emplace(checkpoint.weights_sha256(), name);
    if (is_new) {
      networks.push_back(
          {.name = name, .file = file, .iterations = checkpoint.iterations(), .figures = {}});
    } else if (known->second != name) {
      LogInfo(fmt::format("{} is the same network as {}", name, known->second));
    }
  };
  const auto add_named = [&](const std::string& which) {
    UseCheckpoint(run, which, kOption, [&](const fs::path& file) { add(which, file); });
  };
  for (const std::string& which : SplitList(args.checkpoints, kOption)) {
    if (which != kAll) {
      add_named(which);
      continue;
    }
    const std::vector<fs::path> kept = run.AllArchived();
    for (const fs::path& file : kept) {
      const std::string stem = file.stem().string();
      add("update " + stem.substr(stem.find('-') + 1), file);
    }
    if (fs::exists(run.checkpoint())) add_named("last");
    if (fs::exists(run.best())) add_named("best");
    if (networks.empty()) add_named("last");  // throws InputError that says what is missing
    if (!kept.empty()) continue;
    LogWarning(fmt::format(
        "{} has kept no earlier networks, so only its last and best are evaluated. To keep more, "
        "train with checkpoint.keep_every above 0.",
        run.path().string()));
  }
  if (args.untrained) networks.push_back({.name = "untrained", .file = {}, .figures = {}});
  std::ranges::stable_sort(networks, {}, &EvaluatedNetwork::iterations);
  return networks;
}

// Fills in the examples and the seconds of training of the networks of this run. `curve` has a
// point for each update.
void LocateInTraining(std::vector<EvaluatedNetwork>& networks, const RunDirectory& run,
                      const std::vector<UpdatePoint>& curve) {
  for (EvaluatedNetwork& network : networks) {
    if (!network.file.empty() && !fs::equivalent(network.file.parent_path() / ".", run.path())) {
      continue;
    }
    network.examples = 0;
    network.trained_s = 0;
    for (const UpdatePoint& point : curve) {
      if (point.iterations > network.iterations) break;
      network.examples = point.examples;
      network.trained_s = point.seconds;
    }
  }
}

// Evaluation solves the same problems with each network of a run. A position of a game counts as
// solved if the move keeps its value.
class Evaluation {
 public:
  // `model` must outlive this object. Throws InputError if a problem has no valid state or, of a
  // game, no best moves.
  Evaluation(LoadedModel& model, std::vector<Problem> problems, const std::string& run)
      : model_(model), problems_(std::move(problems)), search_(model.MakeMoveSearch()) {
    for (const Problem& problem : problems_) {
      if (!problem.error.empty()) {
        throw InputError(fmt::format("{}. Expected states of {}, the puzzle of {}.", problem.error,
                                     model.domain().spec().name, run));
      }
      if (is_game() && problem.best_moves.empty()) {
        throw InputError(fmt::format(
            "state {}: a position of a game needs `best_moves`. scripts/game_strength writes such "
            "a file for Connect Four (--values), and plays matches of any game.",
            DumpJson(problem.id)));
      }
    }
  }

  std::size_t num_states() const { return problems_.size(); }
  const Search& search() const { return *search_; }
  bool is_game() const { return AsGame(model_.domain()) != nullptr; }

  // Fills in the figures of `network`. If `stop` is reached, or the work fails, these are of the
  // states until then. Returns the failure, or null.
  std::exception_ptr Evaluate(EvaluatedNetwork& network, const StopSignal& stop) {
    std::exception_ptr failure;
    outcomes_.clear();
    seconds_ = 0;
    network.complete = false;
    try {
      Solve(network, stop);
      network.complete = true;
    } catch (const Stopped&) {
    } catch (...) {
      failure = std::current_exception();
    }
    network.figures = Summarise(outcomes_, seconds_);
    network.figures.is_game = is_game();
    return failure;
  }

 private:
  void Solve(const EvaluatedNetwork& network, const StopSignal& stop) {
    if (network.file.empty()) {
      model_.LoadInitial();
    } else {
      model_.Load(network.file);
    }
    const std::vector<float> estimates = Estimates(stop);
    const Stopwatch watch;
    SolveProblems(problems_, model_.domain(), *search_, stop,
                  [&](std::size_t number, const SearchResult& result) {
                    const Problem& problem = problems_[number];
                    SolveOutcome outcome = OutcomeOf(problem, result);
                    if (is_game()) {
                      outcome.stones = problem.stones;
                      outcome.solved =
                          result.best &&
                          std::ranges::count(problem.best_moves, result.best->actions[0]) > 0;
                    } else if (outcome.optimal && !estimates.empty()) {
                      outcome.cost =
                          static_cast<double>(*outcome.optimal) * LeastCost(model_.domain().spec());
                      outcome.estimate = estimates[number];
                    }
                    outcomes_.push_back(outcome);
                    seconds_ = watch.Seconds();
                  });
  }

  // Returns the network's estimate of each problem's state. Returns nothing if the network is a
  // policy, and if `optimal` does not tell the cost.
  std::vector<float> Estimates(const StopSignal& stop) {
    const bool is_known = !is_game() && !CostsDiffer(model_.domain().spec());
    if (!is_known || !model_.net().estimates_states()) return {};
    std::vector<std::uint8_t> states;
    for (const Problem& problem : problems_) {
      states.insert(states.end(), problem.state.begin(), problem.state.end());
    }
    const ConstRows rows(states.data(), problems_.size(), model_.domain().spec().state_size);
    BatchEvaluator evaluator(model_.domain(), model_.net(), RowsPerCall(model_.config()));
    const std::span<const float> estimates = evaluator.Estimate(rows, stop);
    return {estimates.begin(), estimates.end()};
  }

  LoadedModel& model_;
  const std::vector<Problem> problems_;
  const std::unique_ptr<Search> search_;
  std::vector<SolveOutcome> outcomes_;  // of the current network, in the order of their ends
  double seconds_ = 0;                  // from the current network's first search to its last end
};

// Evaluates the networks until the end, a stop or a failure, and returns those that have figures.
// Sets `failure` to the failure, if there is one.
std::vector<EvaluatedNetwork> EvaluateUntilFailure(const std::vector<EvaluatedNetwork>& networks,
                                                   Evaluation& evaluation, const StopSignal& stop,
                                                   std::exception_ptr& failure) {
  std::vector<EvaluatedNetwork> done;
  for (EvaluatedNetwork network : networks) {
    failure = evaluation.Evaluate(network, stop);
    const SolveFigures& figures = network.figures;
    const bool complete = network.complete;
    if (complete || figures.states > 0) {
      LogInfo(fmt::format("[{}/{}] {}: {} {} of {} in {}", done.size() + 1, networks.size(),
                          network.name, evaluation.is_game() ? "kept the value of" : "solved",
                          figures.solved, figures.states, HumanSeconds(figures.seconds)));
      done.push_back(std::move(network));
    }
    if (!complete) break;
  }
  return done;
}

// Prints the figures as tables. `best` is the index of the network that solves best.
void Print(const std::vector<EvaluatedNetwork>& networks, std::optional<std::size_t> best) {
  fmt::print("{}", EvaluationTable(networks));
  if (!best) return;
  const EvaluatedNetwork& network = networks[*best];
  const SolveFigures& figures = network.figures;
  const std::string by_length = ByLengthTable(figures);
  if (!by_length.empty()) fmt::print("\n{}:\n{}", network.name, by_length);
  if (networks.size() == 1) return;
  fmt::print("\nbest by solving: {}, which {} {} of {} states{}{}\n", network.name,
             figures.is_game ? "keeps the value of" : "solves", figures.solved, figures.states,
             figures.solved > 0 && !figures.is_game
                 ? fmt::format(" with mean length {:.2f}", figures.mean_length)
                 : "",
             network.file.empty() ? "" : fmt::format(" ({})", network.file.string()));
  if (figures.states < kFewestStatesToChoose) {
    LogWarning(fmt::format("{} states are few to choose a network by: use at least {}",
                           figures.states, kFewestStatesToChoose));
  }
}

std::string JsonOf(const EvaluateArgs& args, const Config& config, const Search& search,
                   const std::vector<EvaluatedNetwork>& networks, std::optional<std::size_t> best) {
  nlohmann::ordered_json json = {{"schema", kEvaluationSchema},
                                 {"run", args.run},
                                 {"domain", config.domain.full_name()},
                                 {"states", args.states},
                                 {"search", ValueText(config, "search.method")}};
  const std::string key(search.MainKey());
  if (!key.empty()) {
    json[key.substr(key.find('.') + 1)] = ParseJson(ValueText(config, key));
  }
  json["networks"] = nlohmann::ordered_json::array();
  for (const EvaluatedNetwork& network : networks) json["networks"].push_back(ToJson(network));
  json["best"] = best ? nlohmann::ordered_json(networks[*best].name) : nullptr;
  return DumpJson(json, 2) + "\n";
}

// Checks before hours of work that the results can be written and do not replace what is read.
void CheckResultFile(const EvaluateArgs& args, const Config& config,
                     const std::vector<EvaluatedNetwork>& networks) {
  if (args.json.empty()) return;
  std::vector<NamedFile> inputs = FilesOf(config);
  inputs.push_back({"the file of the states", args.states});
  for (const EvaluatedNetwork& network : networks) {
    inputs.push_back({"a checkpoint to evaluate", network.file});
  }
  CheckOutputs({{"--json", args.json}}, inputs);
  CheckCanWrite(args.json);
}

// A checkpoint that does not fit is an error before the first search, not after hours.
void CheckAllFit(const std::vector<EvaluatedNetwork>& networks, LoadedModel& model) {
  for (const EvaluatedNetwork& network : networks) {
    if (!network.file.empty()) model.Load(network.file);
  }
}

int Evaluate(const EvaluateArgs& args) {
  const RunDirectory run = RunDirectory::Open(args.run);
  std::vector<EvaluatedNetwork> networks = NetworksOf(args, run);
  const fs::path& latest = networks.back().file;
  LoadedModel model({.runs = {args.run},
                     .checkpoints = {(latest.empty() ? run.checkpoint() : latest).string()},
                     .overrides = args.overrides});
  CheckResultFile(args, model.config(), networks);
  if (!IsImported(run.checkpoint())) LocateInTraining(networks, run, ReadCurve(run.metrics()));
  CheckAllFit(networks, model);
  Evaluation evaluation(model, ReadStates(args.states, model.domain(), args.limit), args.run);

  const StopOnSignals signals;
  LogInfo(fmt::format("{} on {} with {}", Counted(std::ssize(networks), "network"),
                      Counted(static_cast<long long>(evaluation.num_states()), "state"),
                      evaluation.search().Describe()));
  std::exception_ptr failure;
  const std::vector<EvaluatedNetwork> done =
      EvaluateUntilFailure(networks, evaluation, signals.stop(), failure);
  const bool complete = done.size() == networks.size() && done.back().complete;
  const std::optional<std::size_t> best = complete ? BestBySolving(done) : std::nullopt;
  if (!done.empty()) Print(done, best);
  if (!complete) {
    LogWarning(fmt::format(
        "{} after {} of {} networks; no file was written", failure ? "failed" : "stopped",
        std::ranges::count(done, true, &EvaluatedNetwork::complete), networks.size()));
    if (failure) std::rethrow_exception(failure);
    return kSignalBase + signals.caught();
  }
  if (!args.json.empty()) {
    WriteOutput(args.json, JsonOf(args, model.config(), evaluation.search(), done, best));
  }
  return kDone;
}

}  // namespace

int RunEvaluate(const EvaluateArgs& args) {
  return WithPlainErrors([&] { return Evaluate(args); });
}

}  // namespace tandem
