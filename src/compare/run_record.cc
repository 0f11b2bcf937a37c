#include "compare/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "base/file.h"
#include "base/hashed_line.h"
#include "base/json.h"
#include "base/schema_number.h"
#include "base/text.h"
#include "data/run_files.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

Json JsonOf(const std::string& text, const std::string& where) {
  Json json = ParseJsonOrDiscard(text);
  if (json.is_discarded()) {
    throw InputError(where + ": not valid JSON. Expected the file that `tandem train` wrote.");
  }
  return json;
}

// Calls `read` with `json`. If an entry is missing, the error names `where`.
template <class Read>
void ReadFrom(const Json& json, const std::string& where, const Read& read) {
  try {
    read(json);
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
}

void ReadSummary(const Json& json, RunRecord& record) {
  record.updates = json.at("updates");
  record.examples = json.at("examples");
  record.final_loss = json.at("final_loss");
  record.weights_sha256 = json.at("weights_sha256");
  const Json& warm = json.at("after_cold_start");
  record.seconds = warm.at("wall_s");
  record.generate_critical_s = warm.at("generate_critical_s");
  record.train_critical_s = warm.at("train_critical_s");
  if (const auto ranks = json.find("ranks"); ranks != json.end()) {
    record.ranks = ranks->at("world_size");
  }
  record.core_s = warm.at("core_s").get<double>() * record.ranks;
  record.cores = warm.at("cores");
  record.idle_workers = warm.at("idle_workers");
  record.idle_main = warm.at("idle_main");
  if (const auto gpu = warm.find("gpu_s"); gpu != warm.end()) record.gpu_s = gpu->get<double>();
  if (const auto share = warm.find("product_share"); share != warm.end()) {
    record.product_share = share->get<double>() * record.ranks;
  }
}

// The most updates of a run, and the most iterations or examples of an update. All of a run's add
// up to less than 64 bits hold.
constexpr std::int64_t kMostUpdates = std::int64_t{1} << 26;
constexpr std::int64_t kMostOfUpdate = std::int64_t{1} << 36;

std::int64_t CountIn(const Json& json, const char* key, std::int64_t most) {
  const Json& value = json.at(key);
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)) {
    return value.get<std::int64_t>();
  }
  throw InputError(fmt::format("expected `{}` to be a whole number up to {}", key, most));
}

// Returns the point of a line of metrics.jsonl. `curve` has the points of the earlier lines. An
// update whose line is missing counts as one with the iterations and examples of this line.
UpdatePoint PointOf(const Json& json, std::span<const UpdatePoint> curve) {
  UpdatePoint point;
  const UpdatePoint before = curve.empty() ? UpdatePoint{.update = -1} : curve.back();
  point.update = CountIn(json, "update", kMostUpdates);
  const std::int64_t updates = point.update - before.update;
  if (updates < 1) {
    throw InputError(fmt::format("`update` is {}, expected more than {}, that of the line before",
                                 point.update, before.update));
  }
  point.iterations = before.iterations + updates * CountIn(json, "iterations", kMostOfUpdate);
  point.examples = before.examples + updates * CountIn(json, "examples", kMostOfUpdate);
  point.seconds = json.at("elapsed_s");
  point.loss = json.at("loss");
  const auto read = [&](const char* key, std::optional<double>& value) {
    if (const auto found = json.find(key); found != json.end()) value = found->get<double>();
  };
  read("solve_rate", point.solve_rate);
  read("walk_length_error", point.walk_length_error);
  read("value_error", point.value_error);
  for (const char* key : {"walk_length_error_by_length", "value_error_by_length"}) {
    const auto found = json.find(key);
    if (found == json.end()) continue;
    for (const auto& [length, error] : found->items()) {
      const auto number = ParseNumber<std::int64_t>(length);
      if (!number) throw InputError(fmt::format("`{}` has '{}', expected a length", key, length));
      point.error_by_length.emplace_back(*number, error.get<double>());
    }
  }
  std::ranges::sort(point.error_by_length);
  return point;
}

void ReadUpdate(const Json& json, RunRecord& record) {
  record.curve.push_back(PointOf(json, record.curve));
  record.lag_updates += json.at("lag_updates").get<double>();
  const auto interval = [&](const char* began, const char* took) {
    const double begin = json.at(began);
    return Interval{.begin = begin, .end = begin + json.at(took).get<double>()};
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
    const auto json = ReadLineOrWarn<Json>(line, where, "the line is left out");
    if (json) ReadFrom(*json, where, read);
  }
}

// Reads the updates. If the run has finished, its last line is complete, and is read even if it has
// no line break.
RunRecord ReadMetrics(const std::filesystem::path& metrics, bool finished) {
  RunRecord record;
  ReadLines(metrics, finished, [&](const Json& json) { ReadUpdate(json, record); });
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
            [&](const Json& json) { curve.push_back(PointOf(json, curve)); });
  return curve;
}

RunRecord ReadUpdates(const std::filesystem::path& metrics) {
  return ReadMetrics(metrics, /*finished=*/false);
}

RunRecord ReadRun(const std::filesystem::path& folder) {
  const std::string summary = (folder / kSummaryFile).string();
  RunRecord record = ReadMetrics(folder / kMetricsFile, /*finished=*/true);
  const Json whole = JsonOf(ReadFile(summary), summary);
  RequireKnownSchema(summary, whole, kSummarySchema);
  ReadFrom(whole, summary, [&](const Json& json) {
    ReadSummary(json, record);
    const Json& validation = json.at("validation");
    if (!validation.is_null()) {
      record.curve.back().solve_rate = validation.at("solve_rate").get<double>();
    }
  });
  return record;
}

}  // namespace tandem
