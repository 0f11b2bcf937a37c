#include "report/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "data/run_files.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Calls `read` with `json`. If an entry is missing or wrong, the error names `where`.
template <class Read>
void ReadFrom(const nlohmann::json& json, const std::string& where, const Read& read) {
  try {
    read(json);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
}

void ReadSummaryInto(const nlohmann::json& json, RunRecord& record) {
  record.updates = ReadEntry<std::int64_t>(json, "updates");
  record.examples = ReadEntry<std::int64_t>(json, "examples");
  record.final_loss = ReadEntry<double>(json, "final_loss");
  record.weights_sha256 = ReadEntry<std::string>(json, "weights_sha256");
  if (json.contains("ranks")) {
    record.ranks = ReadEntry<int>(ReadObject(json, "ranks"), "world_size");
  }
  const nlohmann::json warm = ReadObject(json, "after_cold_start");
  record.seconds = ReadEntry<double>(warm, "wall_s");
  record.generate_critical_s = ReadEntry<double>(warm, "generate_critical_s");
  record.train_critical_s = ReadEntry<double>(warm, "train_critical_s");
  record.core_s = ReadEntry<double>(warm, "core_s") * record.ranks;
  record.cores = ReadEntry<int>(warm, "cores");
  record.idle_workers = ReadEntry<double>(warm, "idle_workers");
  record.idle_main = ReadEntry<double>(warm, "idle_main");
  record.gpu_s = FindEntry<double>(warm, "gpu_s");
}

// The most updates of a run, and the most iterations or examples of an update. All of a run's add
// up to less than 64 bits hold.
constexpr std::int64_t kMostUpdates = std::int64_t{1} << 26;
constexpr std::int64_t kMostOfUpdate = std::int64_t{1} << 36;

// Returns the point of a line of metrics.jsonl. `curve` has the points of the earlier lines. An
// update whose line is missing counts as one with the iterations and examples of this line.
UpdatePoint PointOf(const nlohmann::json& json, std::span<const UpdatePoint> curve) {
  UpdatePoint point;
  const UpdatePoint before = curve.empty() ? UpdatePoint{.update = -1} : curve.back();
  point.update = ReadCount(json, "update", kMostUpdates);
  const std::int64_t updates = point.update - before.update;
  if (updates < 1) {
    throw InputError(fmt::format("`update` is {}, expected more than {}, that of the line before",
                                 point.update, before.update));
  }
  point.iterations = before.iterations + updates * ReadCount(json, "iterations", kMostOfUpdate);
  point.examples = before.examples + updates * ReadCount(json, "examples", kMostOfUpdate);
  point.seconds = ReadEntry<double>(json, "elapsed_s");
  point.loss = ReadEntry<double>(json, "loss");
  point.solve_rate = FindEntry<double>(json, "solve_rate");
  point.walk_length_error = FindEntry<double>(json, "walk_length_error");
  point.value_error = FindEntry<double>(json, "value_error");
  for (const char* key : {"walk_length_error_by_length", "value_error_by_length"}) {
    if (const auto found = json.find(key); found == json.end() || found->is_null()) continue;
    const nlohmann::json errors = ReadObject(json, key);
    for (const auto& [length, error] : errors.items()) {
      const auto number = ParseNumber<std::int64_t>(length);
      if (!number) throw InputError(fmt::format("`{}` has '{}', expected a length", key, length));
      point.error_by_length.emplace_back(*number, ReadEntry<double>(errors, length));
    }
  }
  std::ranges::sort(point.error_by_length);
  return point;
}

void ReadUpdate(const nlohmann::json& json, RunRecord& record) {
  record.curve.push_back(PointOf(json, record.curve));
  record.lag_updates += ReadEntry<double>(json, "lag_updates");
  const auto interval = [&](const char* began, const char* took) {
    const auto begin = ReadEntry<double>(json, began);
    return Interval{.begin = begin, .end = begin + ReadEntry<double>(json, took)};
  };
  record.fills.push_back(interval("generate_began_s", "generate_s"));
  record.trainings.push_back(interval("train_began_s", "train_s"));
}

// Calls `read` with each line of a metrics.jsonl. Ignores a last line without a line break unless
// the run has `finished`.
template <class Read>
void ReadLines(const std::filesystem::path& metrics, bool finished, const Read& read) {
  std::istringstream lines(ReadFile(metrics));
  int number = 1;
  for (std::string line; std::getline(lines, line) && (finished || !lines.eof()); ++number) {
    const std::string where = fmt::format("{}:{}", metrics.string(), number);
    const auto json = ReadLineOrWarn<nlohmann::json>(line, where, "the line is left out");
    if (json) ReadFrom(*json, where, read);
  }
}

// Reads the updates. If the run has finished, its last line is complete, and is read even if it has
// no line break.
RunRecord ReadMetrics(const std::filesystem::path& metrics, bool finished) {
  RunRecord record;
  ReadLines(metrics, finished, [&](const nlohmann::json& json) { ReadUpdate(json, record); });
  if (record.curve.empty()) {
    throw InputError(metrics.string() + ": no updates found; expected one line per update");
  }
  record.lag_updates /= static_cast<double>(record.curve.size());
  return record;
}

}  // namespace

std::vector<UpdatePoint> ReadCurve(const std::filesystem::path& metrics) {
  std::vector<UpdatePoint> curve;
  if (!std::filesystem::exists(metrics)) return curve;
  ReadLines(metrics, /*finished=*/false,
            [&](const nlohmann::json& json) { curve.push_back(PointOf(json, curve)); });
  return curve;
}

RunRecord ReadUpdates(const std::filesystem::path& metrics) {
  return ReadMetrics(metrics, /*finished=*/false);
}

nlohmann::json ReadSummary(const std::filesystem::path& file) {
  nlohmann::json summary = ParseJsonOrDiscard(ReadFile(file));
  if (!summary.is_object()) {
    throw InputError(
        fmt::format("{}: not a JSON object. Expected the summary of a finished run; "
                    "remove the file, or train again.",
                    file.string()));
  }
  RequireKnownSchema(file.string(), summary, kSummarySchema);
  return summary;
}

RunRecord ReadRun(const std::filesystem::path& folder) {
  const std::filesystem::path summary = folder / kSummaryFile;
  RunRecord record = ReadMetrics(folder / kMetricsFile, /*finished=*/true);
  ReadFrom(ReadSummary(summary), summary.string(), [&](const nlohmann::json& json) {
    ReadSummaryInto(json, record);
    const auto validation = json.find("validation");
    if (validation == json.end() || !validation->is_null()) {
      record.curve.back().solve_rate =
          ReadEntry<double>(ReadObject(json, "validation"), "solve_rate");
    }
  });
  return record;
}

}  // namespace tandem
