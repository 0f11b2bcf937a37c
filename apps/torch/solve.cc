// tandem solve --model RUN_DIR --states FILE
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
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
#include "base/signals.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "nn/torch_message.h"
#include "tandem/error.h"
#include "train/loaded_model.h"
#include "train/states_file.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

// `SolveResult` is the outcome of one line of the states file.
struct SolveResult {
  Problem line;
  SearchResult search;
  std::string error;  // why there is no solution; "" if there is one
};

double Mean(double part, std::size_t of) { return of == 0 ? 0.0 : part / static_cast<double>(of); }

double BytesPerNode(const SearchResult& search) {
  return Mean(static_cast<double>(search.bytes), static_cast<std::size_t>(search.stored));
}

ordered_json PartialToJson(const Partial& best, const Domain& domain) {
  return {{"moves", FormatActions(domain.spec(), best.actions)},
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
  for (const Ended why : {Ended::kNodeLimit, Ended::kMemoryLimit, Ended::kTimeLimit,
                          Ended::kLengthLimit, Ended::kCostLimit, Ended::kExhausted}) {
    const auto count = std::ranges::count_if(results, [&](const SolveResult& result) {
      return result.line.error.empty() && !result.search.solved && result.search.ended == why;
    });
    if (count == 0) continue;
    unsolved += static_cast<std::size_t>(count);
    reasons += fmt::format("{}{} {}{}", reasons.empty() ? "" : ", ", count,
                           why == Ended::kExhausted ? "" : "at the ", NameOf(why));
  }
  return reasons.empty() ? "" : fmt::format("not solved    {}: {}\n", unsolved, reasons);
}

std::string NotSearched(const std::vector<SolveResult>& results) {
  const auto count = std::ranges::count_if(
      results, [](const SolveResult& result) { return !result.line.error.empty(); });
  return count == 0 ? "" : fmt::format("not a state   {}\n", Counted(count, "line"));
}

std::string Lengths(const std::vector<SolveResult>& results) {
  std::size_t solved = 0;
  std::size_t with_optimal = 0;
  std::size_t optimal = 0;
  double length = 0;
  double length_with_optimal = 0;
  double optimal_length = 0;
  double found_length = 0;
  for (const SolveResult& result : results) {
    if (!result.search.solved) continue;
    const auto moves = static_cast<double>(result.search.actions.size());
    ++solved;
    length += moves;
    found_length += static_cast<double>(result.search.found_length.value_or(0));
    if (!result.line.optimal) continue;
    ++with_optimal;
    length_with_optimal += moves;
    optimal_length += *result.line.optimal;
    if (moves == *result.line.optimal) ++optimal;
  }
  std::string table = fmt::format("\nsolved        {} of {}\n", solved, results.size());
  table += NotSolved(results) + NotSearched(results);
  if (solved > 0) {
    const std::string before =
        found_length > 0 ? fmt::format(", shortened from {:.2f}", Mean(found_length, solved)) : "";
    table += fmt::format("mean length   {:.2f}{}\n", Mean(length, solved), before);
  }
  if (with_optimal > 0) {
    const std::string theirs =
        with_optimal == solved
            ? ""
            : fmt::format(", their mean {:.2f}", Mean(length_with_optimal, with_optimal));
    table += fmt::format("mean optimal  {:.2f}, reached by {} of {}{}\n",
                         Mean(optimal_length, with_optimal), optimal, with_optimal, theirs);
  }
  return table;
}

// Returns the JSON object of a result. docs/solve.md lists its keys.
ordered_json ToJson(const SolveResult& result, const Domain& domain) {
  const SearchResult& search = result.search;
  ordered_json json = {{"id", result.line.id},
                       {"state", result.line.text},
                       {"solved", search.solved},
                       {"moves", nullptr},
                       {"length", nullptr}};
  if (search.solved) {
    json["moves"] = FormatActions(domain.spec(), search.actions);
    json["length"] = search.actions.size();
  }
  if (search.found_length) json["found_length"] = *search.found_length;
  if (result.line.optimal) json["optimal"] = *result.line.optimal;
  json["cost"] = search.solved ? ordered_json(search.cost) : ordered_json();
  json["ended"] = result.line.error.empty() ? ordered_json(NameOf(search.ended)) : ordered_json();
  json["best"] = search.best ? PartialToJson(*search.best, domain) : ordered_json();
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
  const std::string found =
      search.found_length ? fmt::format(", shortened from {},", *search.found_length) : "";
  return fmt::format("{:>6}  {} moves{}{} in {}: {}", id, search.actions.size(), optimal, found,
                     HumanSeconds(search.seconds), FormatActions(domain.spec(), search.actions));
}

// Summarises all results in a table of text. `seconds` is their total time.
std::string Summarise(const std::vector<SolveResult>& results, double seconds) {
  std::int64_t nodes = 0;
  std::int64_t expanded = 0;
  std::size_t searched = 0;
  for (const SolveResult& result : results) {
    if (result.line.error.empty()) ++searched;
    nodes += result.search.nodes;
    expanded += result.search.expanded;
  }
  std::string table = Lengths(results);
  if (searched > 0) {
    table += fmt::format("mean time     {} a puzzle\n", HumanSeconds(Mean(seconds, searched)));
  }
  if (seconds > 0) {
    table += fmt::format("nodes         {} generated, {} per second\n", WithThousands(nodes),
                         WithThousands(static_cast<long long>(double(nodes) / seconds)));
    table += fmt::format("expanded      {} states\n", WithThousands(expanded));
  }
  return table + Memory(results);
}

// `ResultWriter` writes results as they arrive. JSON lines go to --out if it is given, else to
// standard output. Readable lines go to standard output if --out is given or standard output is a
// terminal.
class ResultWriter {
 public:
  // Opens --out, so that a wrong name fails before any work is done. Throws InputError if the file
  // cannot be written.
  explicit ResultWriter(const SolveArgs& args)
      : for_people_(!args.out.empty() || IsTerminal(STDOUT_FILENO)) {
    if (args.out.empty()) return;
    CheckIsNotStatesFile("--out", args.out, args.states);
    OpenOutput(file_, args.out);
    std::signal(SIGPIPE, SIG_IGN);  // if a reader of standard output exits, still write the file
  }

  // Writes one result. If the file cannot be written, for example because the disk is full, throws
  // Error once. The file then keeps the earlier results, and later ones go only to standard
  // output.
  void Write(const SolveResult& result, const Domain& domain) {
    const std::string line = DumpJson(ToJson(result, domain)) + "\n";
    Print(for_people_ ? DescribeResult(result, domain) + "\n" : line);
    if (file_) WriteToFile(line);
    ++written_;
  }

  // Completes the file and prints the summary.
  void Finish(const std::vector<SolveResult>& results, double seconds) {
    if (file_) file_->Commit();
    std::fputs(Summarise(results, seconds).c_str(), for_people_ ? stdout : stderr);
  }

 private:
  void WriteToFile(const std::string& line) {
    if (failed_) return;
    const std::int64_t whole_lines = file_->size();
    try {
      file_->Write(line);
    } catch (const Error& error) {
      failed_ = true;
      file_->Truncate(whole_lines);
      throw Error(
          fmt::format("{}; the file keeps the first {}, and later ones go to standard output",
                      error.what(), Counted(written_, "result")));
    }
  }

  void Print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    if (std::fflush(stdout) == 0 || file_ || failed_) return;
    failed_ = true;
    throw Error(fmt::format("cannot write standard output: {}; it received {}",
                            std::strerror(errno), Counted(written_, "result")));
  }

  bool for_people_;
  std::optional<AtomicFile> file_;
  std::int64_t written_ = 0;
  bool failed_ = false;
};

// Collects results in the order in which searches end, and writes them in the order of the lines.
class Results {
 public:
  Results(const std::vector<Problem>& lines, const Domain& domain, ResultWriter& writer)
      : domain_(domain), writer_(writer), waiting_(lines.size()) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].error.empty()) continue;
      waiting_[i] = {.line = lines[i], .search = {}, .error = lines[i].error};
    }
    WriteReady();
  }

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

  const std::vector<SolveResult>& written() const { return written_; }

  // Seconds until the last result; a search that was stopped after it does not count.
  double seconds() const { return seconds_; }

 private:
  void WriteReady() {
    while (next_ < waiting_.size() && waiting_[next_]) WriteNext();
  }

  // Advances `next_` first, because writing may throw and the result must not be written twice.
  void WriteNext() {
    written_.push_back(std::move(*waiting_[next_++]));
    writer_.Write(written_.back(), domain_);
  }

  const Domain& domain_;
  ResultWriter& writer_;
  const Stopwatch watch_;
  double seconds_ = 0;
  std::vector<std::optional<SolveResult>> waiting_;  // by line; empty until the line has its result
  std::size_t next_ = 0;                             // first line not yet written
  std::vector<SolveResult> written_;
};

void SolveLines(const std::vector<Problem>& lines, const LoadedModel& model, Search& search,
                const StopSignal& stop, Results& results) {
  const auto done = [&](std::size_t number, SearchResult result) {
    std::string error = result.solved ? "" : search.Failure(result);
    results.Add(number,
                {.line = lines[number], .search = std::move(result), .error = std::move(error)});
  };
  SolveProblems(lines, model.domain(), search, stop, done);
}

// Solves the lines until the end, a stop or a failure. Results found before a stop or a failure are
// written. Returns the failure, or null.
std::exception_ptr SolveUntilFailure(const std::vector<Problem>& lines, const LoadedModel& model,
                                     Search& search, const StopSignal& stop, Results& results) {
  const char* ended = nullptr;
  std::exception_ptr failure;
  try {
    SolveLines(lines, model, search, stop, results);
    return nullptr;
  } catch (const Stopped&) {
    ended = "stopped";
  } catch (...) {
    ended = "failed";
    failure = std::current_exception();
  }
  results.WriteRest();
  LogWarning(fmt::format("{} after {} of {} states; the remaining states have no result", ended,
                         results.written().size(), lines.size()));
  return failure;
}

int ExitCodeFor(const std::vector<SolveResult>& results) {
  const auto bad_line = [](const SolveResult& r) { return !r.line.error.empty(); };
  const auto solved = [](const SolveResult& r) { return r.search.solved; };
  if (std::ranges::any_of(results, bad_line)) return kBadInput;
  return std::ranges::all_of(results, solved) ? kDone : kFailed;
}

int Solve(const SolveArgs& args) {
  LoadedModel model(args.model);
  const Domain& domain = model.domain();
  const std::vector<Problem> lines = ReadStates(args.states, domain, args.limit);
  ResultWriter writer(args);

  const std::unique_ptr<Search> search = model.MakeSearch();
  const StopOnSignals signals;
  Results results(lines, domain, writer);
  const std::exception_ptr failure =
      SolveUntilFailure(lines, model, *search, signals.stop(), results);
  writer.Finish(results.written(), results.seconds());
  if (failure) std::rethrow_exception(failure);
  return signals.caught() != 0 ? kSignalBase + signals.caught() : ExitCodeFor(results.written());
}

}  // namespace
}  // namespace tandem

extern "C" int tandem::tandem_run_solve(const SolveArgs& args) {
  return WithPlainErrors([&] { return Solve(args); });
}
