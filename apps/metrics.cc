// tandem metrics RUN
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct MetricsArgs {
  std::string run;
  std::string csv;  // file to write; "": standard output
};

// Reads metrics.jsonl. Entries of nested objects become entries of their own: {"a": {"3": 1}} is
// read as {"a/3": 1}. Skips lines that are not JSON objects: the last one may be half written.
std::vector<Json> ReadMetrics(const fs::path& path) {
  RequireNoPipe(path);
  std::vector<Json> lines;
  std::istringstream text(ReadFile(path));
  int number = 1;
  for (std::string line; std::getline(text, line); ++number) {
    const auto json = ParseJsonOrDiscard<Json>(line);
    if (!json.is_object()) {
      LogWarning(fmt::format("{}:{}: expected a JSON object; the line is left out", path.string(),
                             number));
      continue;
    }
    Json& flat = lines.emplace_back(Json::object());
    const Json by_pointer = json.flatten();  // {"/a/3": 1}
    for (const auto& [pointer, value] : by_pointer.items()) {
      if (!pointer.empty()) flat[pointer.substr(1)] = value;  // empty: the line is {}
    }
  }
  return lines;
}

// Returns every key, in the order of first appearance.
std::vector<std::string> KeysOf(const std::vector<Json>& lines) {
  std::vector<std::string> keys;
  for (const Json& line : lines) {
    for (const auto& [key, value] : line.items()) {
      if (std::ranges::count(keys, key) == 0) keys.push_back(key);
    }
  }
  return keys;
}

// Quotes a text if CSV (RFC 4180) requires it.
std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string Cell(const Json& line, const std::string& key) {
  const auto entry = line.find(key);
  if (entry == line.end() || entry->is_null()) return "";
  return Quoted(entry->is_string() ? entry->get<std::string>() : DumpJson(*entry));
}

std::string Csv(const std::vector<Json>& lines) {
  const std::vector<std::string> keys = KeysOf(lines);
  std::vector<std::string> cells;
  for (const std::string& key : keys) cells.push_back(Quoted(key));
  std::string csv = fmt::format("{}\n", fmt::join(cells, ","));
  for (const Json& line : lines) {
    cells.clear();
    for (const std::string& key : keys) cells.push_back(Cell(line, key));
    csv += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return csv;
}

int RunMetrics(const MetricsArgs& args) {
  const fs::path path = fs::path(args.run) / "metrics.jsonl";
  if (!fs::exists(path)) {
    throw InputError(fmt::format(
        "{}: no such file; expected the folder of a run that has done an update", path.string()));
  }
  const std::string csv = Csv(ReadMetrics(path));
  if (args.csv.empty()) {
    fmt::print("{}", csv);
  } else {
    WriteOutput(args.csv, csv);
  }
  return kDone;
}

}  // namespace

void AddMetrics(CommandLine& line) {
  const auto args = std::make_shared<MetricsArgs>();
  CLI::App& metrics = AddCommand(line, "metrics", "Print the figures of a run's updates as CSV",
                                 [args] { return RunMetrics(*args); });
  metrics.add_option("run", args->run, "Folder of a run of `tandem train`")
      ->required()
      ->type_name("RUN_DIR");
  metrics.add_option("--csv", args->csv, "Write to FILE instead of standard output")
      ->type_name("FILE");
  metrics.footer(
      "A row per update and a column per key of metrics.jsonl. A cell is empty if its update has "
      "no\n"
      "such figure: most updates are not validated. Figures by length are columns such as\n"
      "solve_rate_by_length/12.\n\n"
      "  tandem metrics runs/my-run --csv my-run.csv\n\n"
      "In Python: pandas.read_csv(\"my-run.csv\").plot(\"elapsed_s\", \"loss\")");
}

}  // namespace tandem
