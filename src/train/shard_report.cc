#include "train/shard_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "loaders/shard_loader.h"

namespace tandem {
namespace {

nlohmann::ordered_json ToJson(const StageTotals& stage) {
  return {{"bytes", stage.bytes}, {"seconds", stage.seconds}, {"gb_per_s", stage.GbPerSecond()}};
}

double EpochsOf(const ShardReport& report) {
  return static_cast<double>(report.rows) / static_cast<double>(report.examples);
}

}  // namespace

ShardReport ReportOfShards(const ShardLoader& shards, const TrainingMark& begin,
                           const TrainingMark& end) {
  const ShardSetSpec& set = shards.set().spec();
  const std::int64_t rows = end.position.rows - begin.position.rows;
  return {.rows = rows,
          .skipped_chunks = end.position.skipped_chunks - begin.position.skipped_chunks,
          .skipped_rows = end.position.skipped_rows - begin.position.skipped_rows,
          .examples = set.examples,
          .disk = shards.disk(),
          .transfer = shards.transfer(),
          .training = {.bytes = rows * static_cast<std::int64_t>(set.schema.row_bytes()),
                       .seconds = end.train_s - begin.train_s}};
}

nlohmann::ordered_json ToJson(const ShardReport& report) {
  return {{"rows", report.rows},
          {"epochs", EpochsOf(report)},
          {"skipped_chunks", report.skipped_chunks},
          {"skipped_rows", report.skipped_rows},
          {"disk", ToJson(report.disk)},
          {"transfer", ToJson(report.transfer)},
          {"training", ToJson(report.training)}};
}

std::vector<std::string> DescribeShardReport(const ShardReport& report, const std::string& device) {
  const std::string transfer =
      device == "cpu" ? "" : fmt::format(", transfer {:.3f}", report.transfer.GbPerSecond());
  std::vector<std::string> lines = {fmt::format(
      "shards: {:.2f} epochs; at work, disk reads {:.3f} GB/s{}, training {:.3f}", EpochsOf(report),
      report.disk.GbPerSecond(), transfer, report.training.GbPerSecond())};
  if (report.skipped_chunks > 0) {
    lines.push_back(fmt::format(
        "shards: damaged chunks were left out {}, {:.3g} % of the rows ({})",
        report.skipped_chunks == 1 ? "once" : Counted(report.skipped_chunks, "time"),
        100 * static_cast<double>(report.skipped_rows) / static_cast<double>(report.rows),
        WithThousands(report.skipped_rows)));
  }
  return lines;
}

}  // namespace tandem
