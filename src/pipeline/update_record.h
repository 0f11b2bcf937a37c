// Records of what one update did.
#pragma once

#include <cstdint>
#include <optional>

#include "data/data_buffer.h"
#include "pipeline/generator_thread.h"
#include "pipeline/train_pass.h"

namespace tandem {

/// LabelStats says how large the labels of an update are: the costs-to-go of a V net, or those of
/// the actions of a Q net, without masked ones.
struct LabelStats {
  double mean = 0;
  double min = 0;
  double max = 0;
};

/// Returns nothing if `rows` has no labels, if all of them are masked, or if they are in a device's
/// memory.
std::optional<LabelStats> LabelStatsOf(const DataBuffer& rows);

/// UpdateRecord says what one update did, and how long its parts took.
struct UpdateRecord {
  std::int64_t update = 0;
  bool complete = false;                ///< did all its iterations; false if the run was stopped
  std::int64_t lag_updates = 0;         ///< intended policy lag, in updates
  std::int64_t target_age_updates = 0;  ///< actual policy lag; larger if refreshes were skipped
  FillStats fill;                       ///< the fill of this update's buffer
  TrainStats train;
  std::optional<LabelStats> labels;  ///< of the rows trained on, without those from shards
  double wait_for_rows_s = 0;  ///< the main thread's wait for the buffer, including served requests
  double label_s = 0;          ///< sync_main: labelling the rows, including served requests
  double serve_s = 0;          ///< sync_main: serving the searches' requests, in total
  double seconds = 0;          ///< the whole update on the main thread
};

}  // namespace tandem
