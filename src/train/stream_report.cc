#include "train/stream_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace tandem {
namespace {

double MeanLag(double sum, std::int64_t rows) {
  return rows > 0 ? RoundedReal(sum / static_cast<double>(rows)) : 0;
}

double Rate(std::int64_t rows, double seconds) {
  return seconds > 0 ? static_cast<double>(rows) / seconds : 0;
}

}  // namespace

void StreamReport::Add(const StreamUse& use) {
  if (use.rows > 0) {
    lag_min = rows == 0 ? use.lag_min : std::min(lag_min, use.lag_min);
    lag_max = std::max(lag_max, use.lag_max);
  }
  rows += use.rows;
  lag_sum += use.lag_sum;
  rejected_shards += use.rejected_shards;
  for (const auto& [generator, more] : use.rows_by_generator) rows_by_generator[generator] += more;
}

void StreamReport::CountShards(const StreamPosition& begin, const StreamPosition& end) {
  shards = end.used_shards - begin.used_shards;
  dropped_rows = end.dropped_rows - begin.dropped_rows;
  dropped_shards = end.dropped_shards - begin.dropped_shards;
}

nlohmann::ordered_json StreamJson(const StreamUse& use) {
  nlohmann::ordered_json json = {{"stream_rows", use.rows},
                                 {"stream_waiting_shards", use.waiting_shards},
                                 {"stream_dropped_rows", use.dropped_rows},
                                 {"stream_rejected_shards", use.rejected_shards}};
  if (use.rows == 0) return json;
  json["stream_lag_min"] = use.lag_min;
  json["stream_lag_mean"] = MeanLag(use.lag_sum, use.rows);
  json["stream_lag_max"] = use.lag_max;
  for (const auto& [generator, rows] : use.rows_by_generator) {
    json["stream_rows_by_generator"][generator] = rows;
  }
  return json;
}

nlohmann::ordered_json ToJson(const StreamReport& report, double seconds) {
  nlohmann::ordered_json json = {{"rows", report.rows},
                                 {"shards", report.shards},
                                 {"dropped_rows", report.dropped_rows},
                                 {"dropped_shards", report.dropped_shards},
                                 {"rejected_shards", report.rejected_shards},
                                 {"rows_per_s", RoundedReal(Rate(report.rows, seconds))},
                                 {"lag_min", report.lag_min},
                                 {"lag_mean", MeanLag(report.lag_sum, report.rows)},
                                 {"lag_max", report.lag_max}};
  json["rows_by_generator"] = nlohmann::ordered_json::object();
  for (const auto& [generator, rows] : report.rows_by_generator) {
    json["rows_by_generator"][generator] = rows;
  }
  return json;
}

std::vector<std::string> DescribeStream(const StreamReport& report, double seconds) {
  std::vector<std::string> lines = {fmt::format(
      "stream: {} rows of {} ({} rows/s), labelled {} to {} updates before, {:.2g} on average",
      WithThousands(report.rows), Counted(std::ssize(report.rows_by_generator), "generator"),
      WithThousands(static_cast<long long>(Rate(report.rows, seconds))), report.lag_min,
      report.lag_max, MeanLag(report.lag_sum, report.rows))};
  std::vector<std::string> generators;
  for (const auto& [generator, rows] : report.rows_by_generator) {
    generators.push_back(fmt::format("{} {}/s", generator,
                                     WithThousands(static_cast<long long>(Rate(rows, seconds)))));
  }
  if (!generators.empty()) {
    lines.push_back(fmt::format("stream: {}", fmt::join(generators, ", ")));
  }
  if (report.dropped_shards > 0 || report.rejected_shards > 0) {
    lines.push_back(fmt::format("stream: {} ({} rows) were too old and dropped, {} rejected",
                                Counted(report.dropped_shards, "shard"),
                                WithThousands(report.dropped_rows),
                                Counted(report.rejected_shards, "file")));
  }
  return lines;
}

std::string LedgerLines(std::int64_t update, const std::vector<DoneShard>& done) {
  std::string lines;
  for (const DoneShard& shard : done) {
    lines += DumpJson(nlohmann::ordered_json{{"update", update},
                                             {"shard", FormatStreamShardName(shard.name)},
                                             {"generator", shard.name.generator},
                                             {"version", shard.name.version},
                                             {"first_row", shard.name.first_row},
                                             {"rows", shard.name.rows},
                                             {"rows_used", shard.rows_used},
                                             {"lag", shard.lag}}) +
             "\n";
  }
  return lines;
}

}  // namespace tandem
