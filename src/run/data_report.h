// What a run has read of shards.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/shard_loader.h"

namespace tandem {

/// Positions are those of the whole run; figures are of this part of it, if it went on with
/// another.
struct DataReport {
  ShardPosition position;
  std::int64_t examples = 0;  ///< of the set
  StageFigures disk, transfer;
  StageFigures training;  ///< bytes trained on, by the seconds of the updates without their waits
};

/// How far the main thread was at some time.
struct TrainingMark {
  std::int64_t rows = 0;  ///< ShardPosition::rows
  double train_s = 0;     ///< training
  double wait_s = 0;      ///< of it, waiting for chunks
};

/// What `shards` did from the one time to the other.
DataReport ReportOf(const ShardLoader& shards, const TrainingMark& begin, const TrainingMark& end);

nlohmann::ordered_json ToJson(const DataReport& report);

/// A line for people, and one more if something was skipped. What the transfer to `device`, as in a
/// config, took is told unless that is the CPU, where nothing moves.
std::vector<std::string> DescribeData(const DataReport& report, const std::string& device);

}  // namespace tandem
