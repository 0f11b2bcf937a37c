#include "train/shard_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "loaders/shard_loader.h"

namespace tandem {
namespace {

nlohmann::ordered_json ToJson(const StageTotals& stage) {
  return {{"bytes", stage.bytes}, {"seconds", stage.seconds}, {"gb_per_s", stage.GbPerSecond()}};
}

double EpochsOf(const ShardReport& report) {
  return static_cast<double>(report.position.rows) / static_cast<double>(report.examples);
}

}  // namespace

ShardReport ReportOfShards(const ShardLoader& shards, const TrainingMark& begin,
                           const TrainingMark& end) {
  const ShardSetSpec& set = shards.set().spec();
  ShardReport report{.position = shards.position(),
                     .examples = set.examples,
                     .disk = shards.disk(),
                     .transfer = shards.transfer()};
  const double seconds = (end.train_s - begin.train_s) - (end.wait_s - begin.wait_s);
  report.training = {
      .bytes = (end.rows - begin.rows) * static_cast<std::int64_t>(set.schema.row_bytes()),
      .seconds = std::max(0.0, seconds)};
  return report;
}

nlohmann::ordered_json ToJson(const ShardReport& report) {
  return {{"rows", report.position.rows},
          {"epochs", EpochsOf(report)},
          {"skipped_chunks", report.position.skipped_chunks},
          {"skipped_rows", report.position.skipped_rows},
          {"disk", ToJson(report.disk)},
          {"transfer", ToJson(report.transfer)},
          {"training", ToJson(report.training)}};
}

std::vector<std::string> DescribeShardReport(const ShardReport& report, const std::string& device) {
  const ShardPosition& position = report.position;
  const std::string transfer =
      device == "cpu" ? "" : fmt::format(", transfer {:.3f}", report.transfer.GbPerSecond());
  std::vector<std::string> lines = {fmt::format(
      "shards: {:.2f} epochs; at work, disk reads {:.3f} GB/s{}, training {:.3f}", EpochsOf(report),
      report.disk.GbPerSecond(), transfer, report.training.GbPerSecond())};
  if (position.skipped_chunks > 0) {
    lines.push_back(fmt::format(
        "shards: damaged chunks were left out {}, {:.3g} % of the rows ({})",
        position.skipped_chunks == 1 ? "once" : Counted(position.skipped_chunks, "time"),
        100 * static_cast<double>(position.skipped_rows) / static_cast<double>(position.rows),
        WithThousands(position.skipped_rows)));
  }
  return lines;
}

}  // namespace tandem
