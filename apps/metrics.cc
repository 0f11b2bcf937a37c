// tandem metrics RUN
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/file.h"
#include "base/json.h"
#include "data/run_files.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct MetricsArgs {
  std::string run;
  std::string csv;  // file to write; "": standard output
};

// Quotes a text if CSV (RFC 4180) requires it.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string CellOf(const Json& value) {
  if (value.is_null()) return "";
  return CsvField(value.is_string() ? value.get<std::string>() : DumpJson(value));
}

// Table has a row per line of metrics.jsonl and a column per key, in the order in which the keys
// first appear. A row holds only the cells that it has.
class Table {
 public:
  // Entries of nested objects have columns of their own: {"a": {"3": 1}} has a column "a/3".
  void AddRow(const Json& line) {
    rows_.emplace_back();
    AddCells(line, "");
    if (rows_.size() * header_.size() > kMostCells) {
      throw InputError(
          fmt::format("the table would have {} rows and {} columns, expected at most "
                      "{} cells",
                      rows_.size(), header_.size(), kMostCells));
    }
  }

  bool empty() const { return rows_.empty(); }

  std::string Csv() const {
    std::string csv = fmt::format("{}\n", fmt::join(header_, ","));
    for (const std::map<std::size_t, std::string>& row : rows_) {
      std::size_t column = 0;
      for (const auto& [at, cell] : row) {
        csv.append(at - column, ',');
        csv += cell;
        column = at;
      }
      csv.append(header_.size() - std::min(header_.size(), column + 1), ',');
      csv += '\n';
    }
    return csv;
  }

 private:
  // A line of a few bytes can add a column to all rows.
  static constexpr std::size_t kMostCells = 1'000'000'000;
  static constexpr std::size_t kLongestKey = 1000;

  // Adds the entries of `json`, whose keys begin with `path`, to the last row.
  void AddCells(const Json& json, const std::string& path) {
    if (!json.is_structured() || json.empty()) {
      if (!path.empty()) rows_.back()[ColumnOf(path)] = json.is_structured() ? "" : CellOf(json);
      return;
    }
    for (const auto& [key, value] : json.items()) {
      std::string inner = path.empty() ? key : fmt::format("{}/{}", path, key);
      if (inner.size() > kLongestKey) {
        throw InputError(
            fmt::format("a key has more than {} bytes: {}...", kLongestKey, inner.substr(0, 60)));
      }
      AddCells(value, inner);
    }
  }

  std::size_t ColumnOf(const std::string& key) {
    const auto [column, is_new] = columns_.try_emplace(key, header_.size());
    if (is_new) header_.push_back(CsvField(key));
    return column->second;
  }

  std::vector<std::string> header_;
  std::unordered_map<std::string, std::size_t> columns_;
  std::vector<std::map<std::size_t, std::string>> rows_;
};

// Leaves out lines that do not match their hash or are not JSON objects: the last one may be half
// written.
Table ReadMetrics(const fs::path& path) {
  Table table;
  std::istringstream text(ReadFile(path));
  int number = 1;
  for (std::string line; std::getline(text, line); ++number) {
    const std::string where = fmt::format("{}:{}", path.string(), number);
    auto json = ReadLineOrWarn<Json>(line, where, "the line is left out");
    if (!json) continue;
    json->erase(kLineHash);
    try {
      table.AddRow(*json);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", where, error.what()));
    }
  }
  return table;
}

int RunMetrics(const MetricsArgs& args) {
  CheckHasFilesOfRun(args.run, {kMetricsFile});
  const fs::path metrics = fs::path(args.run) / kMetricsFile;
  CheckOutputs({{"--csv", args.csv}}, {{"the file of the metrics", metrics}});
  const Table table = ReadMetrics(metrics);
  if (table.empty()) {
    throw InputError(metrics.string() + ": no updates found; expected one line per update");
  }
  WriteOutput(args.csv, table.Csv());
  return kDone;
}

}  // namespace

void AddMetrics(CommandLine& line) {
  const auto [metrics, args] =
      AddCommand(line, "metrics", "Print the figures of a run's updates as CSV", RunMetrics);
  AddOption(metrics, "run", args.run, "RUN_DIR", "Folder of a run of `tandem train`")->required();
  AddOption(metrics, "--csv", args.csv, "FILE", "Write to FILE instead of standard output");
  metrics.footer(
      "A row per update and a column per key of metrics.jsonl. A cell is empty if its update has\n"
      "no such figure: most updates are not validated. Figures by length are columns such as\n"
      "solve_rate_by_length/12.\n\n"
      "  tandem metrics runs/my-run --csv my-run.csv\n\n"
      "In Python: pandas.read_csv(\"my-run.csv\").plot(\"elapsed_s\", \"loss\")");
}

}  // namespace tandem
