// tandem solve --model RUN_DIR --states FILE
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>

#include "apps/commands.h"
#include "apps/loaded_model.h"
#include "apps/plain_errors.h"
#include "apps/signals.h"
#include "apps/solve_report.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "train/states_file.h"

namespace tandem {
namespace {

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

void SolveLines(const std::vector<Problem>& lines, const LoadedModel& solver, Search& search,
                const StopSignal& stop, Results& results) {
  const Domain& domain = solver.domain();
  std::vector<std::size_t> numbers;  // indices of the lines with a valid state
  std::vector<std::uint8_t> states;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].error.empty()) continue;
    numbers.push_back(i);
    states.insert(states.end(), lines[i].state.begin(), lines[i].state.end());
  }
  const ConstRows starts(states.data(), numbers.size(), domain.spec().state_size);
  search.SolveAll(starts, stop, [&](std::size_t i, SearchResult result) {
    const Problem& line = lines[numbers[i]];
    if (result.solved) CheckByReplay(domain, line.state, result.actions);
    std::string error = solver.Failure(result);
    results.Add(numbers[i], {.line = line, .search = std::move(result), .error = std::move(error)});
  });
}

// Solves the lines until the end, a stop or a failure. Results found before a stop or a failure are
// written. Returns the failure, or null.
std::exception_ptr SolveUntilFailure(const std::vector<Problem>& lines, const LoadedModel& solver,
                                     Search& search, const StopSignal& stop, Results& results) {
  const char* ended = nullptr;
  std::exception_ptr failure;
  try {
    SolveLines(lines, solver, search, stop, results);
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
  LoadedModel solver(args.model);
  const Domain& domain = solver.domain();
  const std::vector<Problem> lines = ReadStates(args.states, domain, args.limit);
  ResultWriter writer(args);

  const std::unique_ptr<Search> search = solver.MakeSearch();
  const StopOnSignals signals;
  Results results(lines, domain, writer);
  const std::exception_ptr failure =
      SolveUntilFailure(lines, solver, *search, signals.stop(), results);
  writer.Finish(results.written(), results.seconds());
  if (failure) std::rethrow_exception(failure);
  return signals.caught() != 0 ? kSignalBase + signals.caught() : ExitCodeFor(results.written());
}

}  // namespace
}  // namespace tandem

extern "C" int tandem::tandem_run_solve(const SolveArgs& args) {
  return WithPlainErrors([&] { return Solve(args); });
}
