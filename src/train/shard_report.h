// The report of a run about the shards that it read.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/shard_pipeline.h"
#include "data/shard_set.h"

namespace tandem {

class ShardLoader;

/// ShardReport says how much a run read from shards and how fast, since it was started or resumed.
struct ShardReport {
  std::int64_t rows = 0;  ///< including skipped ones
  std::int64_t skipped_chunks = 0;
  std::int64_t skipped_rows = 0;
  std::int64_t examples = 0;  ///< number of examples in the set
  StageTotals disk, transfer;
  StageTotals training;  ///< bytes trained on, and seconds of the updates without their waits
};

/// TrainingMark records the progress of the main thread at one moment.
struct TrainingMark {
  ShardPosition position;
  double train_s = 0;  ///< seconds of training, without waits
};

/// Reports what a run did between two marks.
ShardReport ReportOfShards(const ShardLoader& shards, const TrainingMark& begin,
                           const TrainingMark& end);

nlohmann::ordered_json ToJson(const ShardReport& report);

/// Returns a line of text, and a second one if chunks were skipped. `device` is a device name as in
/// a config. The rate of transfers is left out for the CPU, where nothing is transferred.
std::vector<std::string> DescribeShardReport(const ShardReport& report, const std::string& device);

}  // namespace tandem
