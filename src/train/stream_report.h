// The report of a run about its stream.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/stream_reader.h"

namespace tandem {

/// StreamReport says what a run used of its stream since it was started or resumed.
struct StreamReport {
  void Add(const StreamUse& use);

  /// Counts the shards between two positions of the run.
  void CountShards(const StreamPosition& begin, const StreamPosition& end);

  std::int64_t rows = 0;
  std::int64_t shards = 0;
  std::int64_t dropped_rows = 0;
  std::int64_t dropped_shards = 0;
  std::map<std::string, std::int64_t> rows_by_generator;
  std::int64_t lag_min = 0;  ///< of the rows, in updates; 0 if there are none
  std::int64_t lag_max = 0;
  double lag_sum = 0;
  std::int64_t rejected_shards = 0;
};

/// The entries of an update in metrics.jsonl.
nlohmann::ordered_json StreamJson(const StreamUse& use);

/// The entry `stream` of summary.json. `seconds` is the time in which the rows were used.
nlohmann::ordered_json ToJson(const StreamReport& report, double seconds);

/// Lines for the screen: rates, lag and generators, and what was left out.
std::vector<std::string> DescribeStream(const StreamReport& report, double seconds);

/// Lines of shards.jsonl for the shards that were done in update `update`.
std::string LedgerLines(std::int64_t update, const std::vector<DoneShard>& done);

}  // namespace tandem
