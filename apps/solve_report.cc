#include "apps/solve_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "apps/output_file.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

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
  std::int64_t stored = 0, bytes = 0, most = 0;
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
  for (const Ended why :
       {Ended::kNodeLimit, Ended::kTimeLimit, Ended::kLengthLimit, Ended::kExhausted}) {
    const auto count = std::ranges::count_if(results, [&](const SolveResult& result) {
      return result.line.error.empty() && !result.search.solved && result.search.ended == why;
    });
    if (count == 0) continue;
    unsolved += static_cast<std::size_t>(count);
    reasons += fmt::format("{}{} {}{}", reasons.empty() ? "" : ", ", count,
                           why == Ended::kExhausted ? "" : "at the ", Name(why));
  }
  return reasons.empty() ? "" : fmt::format("not solved    {}: {}\n", unsolved, reasons);
}

std::string NotSearched(const std::vector<SolveResult>& results) {
  const auto count = std::ranges::count_if(
      results, [](const SolveResult& result) { return !result.line.error.empty(); });
  return count == 0 ? "" : fmt::format("not a state   {}\n", Counted(count, "line"));
}

std::string Lengths(const std::vector<SolveResult>& results) {
  std::size_t solved = 0, with_optimal = 0, optimal = 0;
  double length = 0, length_with_optimal = 0, optimal_length = 0;
  for (const SolveResult& result : results) {
    if (!result.search.solved) continue;
    const auto moves = static_cast<double>(result.search.actions.size());
    ++solved;
    length += moves;
    if (!result.line.optimal) continue;
    ++with_optimal;
    length_with_optimal += moves;
    optimal_length += *result.line.optimal;
    if (moves == *result.line.optimal) ++optimal;
  }
  std::string table = fmt::format("\nsolved        {} of {}\n", solved, results.size());
  table += NotSolved(results) + NotSearched(results);
  if (solved > 0) table += fmt::format("mean length   {:.2f}\n", Mean(length, solved));
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

}  // namespace

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
  if (result.line.optimal) json["optimal"] = *result.line.optimal;
  json["cost"] = search.solved ? ordered_json(search.cost) : ordered_json();
  json["ended"] = result.line.error.empty() ? ordered_json(Name(search.ended)) : ordered_json();
  json["best"] = search.best ? PartialToJson(*search.best, domain) : ordered_json();
  json["nodes"] = search.nodes;
  json["expanded"] = search.expanded;
  json["stored"] = search.stored;
  json["bytes_per_node"] = BytesPerNode(search);
  json["seconds"] = search.seconds;
  json["error"] = result.error.empty() ? ordered_json() : ordered_json(result.error);
  return json;
}

std::string Describe(const SolveResult& result, const Domain& domain) {
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
                     HumanSeconds(search.seconds), FormatActions(domain.spec(), search.actions));
}

std::string Summarise(const std::vector<SolveResult>& results, double seconds) {
  std::int64_t nodes = 0, expanded = 0;
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

ResultWriter::ResultWriter(const SolveArgs& args)
    : for_people_(!args.out.empty() || IsTerminal(STDOUT_FILENO)) {
  if (args.out.empty()) return;
  std::error_code ignored;
  if (std::filesystem::equivalent(args.out, args.states, ignored)) {
    throw InputError(
        fmt::format("--out {}: this is the file of the states; choose another file", args.out));
  }
  OpenOutput(file_, args.out);
  std::signal(SIGPIPE, SIG_IGN);  // if a reader of standard output exits, still write the file
}

void ResultWriter::Write(const SolveResult& result, const Domain& domain) {
  const std::string line = DumpJson(ToJson(result, domain)) + "\n";
  Print(for_people_ ? Describe(result, domain) + "\n" : line);
  if (file_) WriteToFile(line);
  ++written_;
}

void ResultWriter::WriteToFile(const std::string& line) {
  if (failed_) return;
  const std::int64_t whole_lines = file_->size();
  try {
    file_->Write(line);
  } catch (const Error& error) {
    failed_ = true;
    file_->Truncate(whole_lines);
    throw Error(fmt::format("{}; the file keeps the first {}, and later ones go to standard output",
                            error.what(), Counted(written_, "result")));
  }
}

void ResultWriter::Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0 || file_ || failed_) return;
  failed_ = true;
  throw Error(fmt::format("cannot write standard output: {}; it received {}", std::strerror(errno),
                          Counted(written_, "result")));
}

void ResultWriter::Finish(const std::vector<SolveResult>& results, double seconds) {
  if (file_) file_->Commit();
  std::fputs(Summarise(results, seconds).c_str(), for_people_ ? stdout : stderr);
}

}  // namespace tandem
