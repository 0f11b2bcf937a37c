// Reports what a run has read from shards.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/shard_loader.h"

namespace tandem {

/// `DataReport` says how much a run read from shards and how fast. The position counts from the
/// start of the run; after --resume, the other figures count from the resumption.
struct DataReport {
  ShardPosition position;
  std::int64_t examples = 0;  ///< number of examples in the set
  StageFigures disk, transfer;
  StageFigures training;  ///< bytes trained on, and seconds of the updates without their waits
};

/// `TrainingMark` records the progress of the main thread at one moment.
struct TrainingMark {
  std::int64_t rows = 0;  ///< ShardPosition::rows
  double train_s = 0;     ///< seconds of training
  double wait_s = 0;      ///< seconds of that spent waiting for chunks
};

/// Reports what `shards` did between two marks.
DataReport ReportOf(const ShardLoader& shards, const TrainingMark& begin, const TrainingMark& end);

nlohmann::ordered_json ToJson(const DataReport& report);

/// Returns a line of text, and a second one if chunks were skipped. `device` is a device name as in
/// a config. The rate of transfers is left out for the CPU, where nothing is transferred.
std::vector<std::string> DescribeData(const DataReport& report, const std::string& device);

}  // namespace tandem
