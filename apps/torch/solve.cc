// tandem solve --model RUN_DIR --states FILE
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/output.h"
#include "apps/torch_library.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "domain/moves.h"
#include "nn/torch_message.h"
#include "report/evaluation.h"
#include "search/expander.h"
#include "search/problems.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "train/loaded_model.h"
#include "train/run_directory.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

// SolveResult is the outcome of one line of the states file.
struct SolveResult {
  Problem line;
  SearchResult search;
  std::string error;  // why there is no solution; "" if there is one
};

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

std::string MemoryLine(const std::vector<SolveResult>& results) {
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

// Returns the JSON object of a result. docs/guide/solve.md lists its keys.
ordered_json ToJson(const SolveResult& result, const Domain& domain) {
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

// Describes a result in one line of text.
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

// Summarises all results in a table of text. `seconds` is the wall time of all searches.
std::string DescribeResults(const std::vector<SolveResult>& results, const Domain& domain,
                            double seconds) {
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
  const bool is_game = AsGame(domain) != nullptr;
  std::string table = fmt::format("\n{}        {} of {}\n", is_game ? "played" : "solved",
                                  figures.solved, results.size());
  table += NotSolved(results) + NotSearched(results);
  if (figures.solved > 0) {
    table += fmt::format("mean length   {:.2f}\n", figures.mean_length);
  }
  table += ComparedWithOptimal(with_optimal, figures.solved);
  if (figures.states > 0) {
    table += fmt::format("mean time     {} a {}\n", HumanSeconds(figures.mean_s()),
                         is_game ? "position" : "puzzle");
  }
  if (seconds > 0) {
    table +=
        fmt::format("nodes         {} generated, {} per second\n", WithThousands(figures.nodes),
                    WithThousands(static_cast<long long>(figures.nodes_per_s())));
    table += fmt::format("expanded      {} states\n", WithThousands(expanded));
  }
  return table + MemoryLine(results);
}

// Results collects results in the order in which searches end, and writes them in the order of the
// lines. JSON lines go to --out if it is given and can be written, else to standard output.
// Readable lines go to standard output if --out is given or standard output is a terminal.
class Results {
 public:
  // Opens --out. Throws InputError if the file cannot be written.
  Results(const SolveArgs& args, const std::vector<Problem>& lines, const Domain& domain)
      : domain_(domain),
        for_people_(!args.out.empty() || IsTerminal(STDOUT_FILENO)),
        waiting_(lines.size()) {
    if (!args.out.empty()) {
      OpenOutput(file_, args.out);
      std::signal(SIGPIPE, SIG_IGN);  // if a reader of standard output exits, still write the file
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].error.empty()) continue;
      waiting_[i] = {.line = lines[i], .search = {}, .error = lines[i].error};
    }
    WriteReady();
  }

  // Writes the results of the first lines that have one.
  void Add(std::size_t line, SolveResult result) {
    waiting_[line] = std::move(result);
    seconds_ = watch_.Seconds();
    WriteReady();
  }

  // Writes the results that wait for lines whose searches will not end.
  void WriteRest() {
    while (next_ < waiting_.size()) {
      if (waiting_[next_]) {
        WriteNext();
      } else {
        ++next_;
      }
    }
  }

  // Completes the file and prints the summary.
  void Finish() {
    if (file_) file_->Commit();
    std::fputs(DescribeResults(written_, domain_, seconds_).c_str(), for_people_ ? stdout : stderr);
  }

  const std::vector<SolveResult>& written() const { return written_; }

  // Whether the file lacks results because it could not be written.
  bool file_failed() const { return file_failed_; }

 private:
  void WriteReady() {
    while (next_ < waiting_.size() && waiting_[next_]) WriteNext();
  }

  // Advances `next_` first, because writing may throw and the result must not be written twice. If
  // the file cannot be written, for example because the disk is full, warns once. The file then
  // keeps the earlier results, and this one and later ones go to standard output as JSON lines.
  // Throws Error if no output is left.
  void WriteNext() {
    const SolveResult& result = written_.emplace_back(std::move(*waiting_[next_++]));
    const std::string line = DumpJson(ToJson(result, domain_)) + "\n";
    if (file_ && !file_failed_) WriteToFile(line);
    Print(for_people_ ? DescribeResult(result, domain_) + "\n" : line);
  }

  void WriteToFile(const std::string& line) {
    const std::int64_t whole_lines = file_->size();
    try {
      file_->Write(line);
      ++in_file_;
    } catch (const Error& error) {
      file_failed_ = true;
      for_people_ = false;
      file_->Truncate(whole_lines);
      LogWarning(fmt::format(
          "{}; it received the first {}, and later ones go to standard output as JSON lines",
          error.what(), Counted(in_file_, "result")));
    }
  }

  // Throws Error once if standard output cannot be written and the results are not in the file.
  void Print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    const bool printed = std::fflush(stdout) == 0;
    if (printed) ++printed_;
    if (printed || print_failed_ || (file_ && !file_failed_)) return;
    print_failed_ = true;
    throw Error(fmt::format("cannot write standard output: {}; it received {}",
                            std::strerror(errno), Counted(printed_, "result")));
  }

  const Domain& domain_;
  bool for_people_;
  std::optional<AtomicFile> file_;
  std::int64_t in_file_ = 0;  // results
  std::int64_t printed_ = 0;  // results, in either form
  bool file_failed_ = false;
  bool print_failed_ = false;
  const Stopwatch watch_;
  double seconds_ = 0;  // until the last result; a search that was stopped after it does not count
  std::vector<std::optional<SolveResult>> waiting_;  // by line; empty until the line has its result
  std::size_t next_ = 0;                             // first line not yet written
  std::vector<SolveResult> written_;
};

// Solves the lines until the end, a stop or a failure. Results found before a stop or a failure are
// written. Returns the failure, or null.
std::exception_ptr SolveUntilFailure(const std::vector<Problem>& lines, const Domain& domain,
                                     Search& search, const StopSignal& stop, Results& results) {
  const char* ended = nullptr;
  std::exception_ptr failure;
  try {
    SolveProblems(lines, domain, search, stop, [&](std::size_t number, SearchResult result) {
      std::string error = result.solved ? "" : search.Failure(result);
      results.Add(number,
                  {.line = lines[number], .search = std::move(result), .error = std::move(error)});
    });
    return nullptr;
  } catch (const Stopped&) {
    ended = "stopped";
  } catch (...) {
    ended = "failed";
    failure = std::current_exception();
  }
  results.WriteRest();
  if (results.written().size() < lines.size()) {
    LogWarning(fmt::format("{} after {} of {} states; the remaining states have no result", ended,
                           results.written().size(), lines.size()));
  }
  return failure;
}

int ExitCodeFor(const std::vector<SolveResult>& results) {
  const auto bad_line = [](const SolveResult& r) { return !r.line.error.empty(); };
  const auto solved = [](const SolveResult& r) { return r.search.solved; };
  if (std::ranges::any_of(results, bad_line)) return kBadInput;
  return std::ranges::all_of(results, solved) ? kDone : kFailed;
}

void CheckOutput(const SolveArgs& args, const Config& config) {
  std::vector<NamedFile> inputs = FilesOf(config);
  if (!args.states.empty()) inputs.push_back({"the file of the states", args.states});
  for (const std::string& folder : args.model.runs) {
    const RunDirectory run = RunDirectory::Open(folder);
    for (const std::string& which : args.model.checkpoints) {
      inputs.push_back({"a checkpoint", CheckpointOf(run, which, "--checkpoint")});
    }
  }
  CheckOutputs({{"--out", args.out}}, inputs);
  if (!args.out.empty()) CheckCanWrite(args.out);  // the search may take long to make
}

// Names the puzzle of the run, because a file of another puzzle is a likely mistake.
void WarnOfBadLines(const std::vector<Problem>& lines, const SolveArgs& args,
                    const Domain& domain) {
  const auto bad = std::ranges::count_if(lines, [](const Problem& p) { return !p.error.empty(); });
  if (bad == 0) return;
  LogWarning(fmt::format("{}: {} of {} cannot be read. Expected states of {}, the puzzle of {}.",
                         args.states, WithThousands(bad), Counted(std::ssize(lines), "state"),
                         domain.spec().name, args.model.runs.front()));
}

// Says so if the searches expanded at least half of the puzzle's states, because a network then
// decided next to nothing.
void SayIfNetworkWasNotNeeded(const std::vector<SolveResult>& results, const Domain& domain) {
  constexpr std::int64_t kMostExpanded = 100'000;  // counting twice as many takes a blink
  std::int64_t searched = 0;
  std::int64_t expanded = 0;
  for (const SolveResult& result : results) {
    if (result.search.expanded == 0) continue;  // not a state, or one that needs no search
    ++searched;
    expanded += result.search.expanded;
  }
  const std::int64_t mean = searched > 0 ? expanded / searched : 0;
  if (mean == 0 || mean > kMostExpanded) return;
  const std::optional<std::size_t> states =
      NumberOfStates(domain, static_cast<std::size_t>(2 * mean));
  if (!states) return;
  LogInfo(fmt::format(
      "{} has {}, and a search expanded {} of them on average: the network was not "
      "needed. Greedy search, or a small beam, shows what the network has learned.",
      domain.spec().name, Counted(static_cast<long long>(*states), "state"), WithThousands(mean)));
}

std::vector<Problem> ReadProblems(const SolveArgs& args, const Domain& domain) {
  if (!args.states.empty()) return ReadStates(args.states, domain, args.limit);
  Problem problem{.id = 1, .state = GoalOf(domain)};
  MakeMoves(domain, args.scramble, /*start=*/"", problem.state);
  problem.text = domain.FormatState(problem.state);
  return {problem};
}

int Solve(const SolveArgs& args) {
  LoadedModel model(args.model);
  CheckOutput(args, model.config());
  const Domain& domain = model.domain();
  const std::vector<Problem> lines = ReadProblems(args, domain);
  const std::unique_ptr<Search> search = model.MakeSearch();
  const StopOnSignals signals;
  Results results(args, lines, domain);
  const std::exception_ptr failure =
      SolveUntilFailure(lines, domain, *search, signals.stop(), results);
  results.Finish();
  WarnOfBadLines(lines, args, domain);
  if (failure) std::rethrow_exception(failure);
  if (signals.caught() != 0) return kSignalBase + signals.caught();
  // IDA* expands states again and again, so its count says nothing.
  if (model.config().search.method != SearchMethod::kIdaStar) {
    SayIfNetworkWasNotNeeded(results.written(), domain);
  }
  return results.file_failed() ? kFailed : ExitCodeFor(results.written());
}

}  // namespace

int RunSolve(const SolveArgs& args) {
  return WithPlainErrors([&] { return Solve(args); });
}

}  // namespace tandem
