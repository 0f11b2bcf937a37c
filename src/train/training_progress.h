// How far a training run is.
#pragma once

#include <cstdint>
#include <optional>

namespace tandem {

/// BusyShares says which share of the time each side of a run worked, from 0 to 1.
struct BusyShares {
  double generating = 0;  ///< the generator thread, including its waits for its workers
  double training = 0;    ///< the main thread, including its waits for its batches and the device
};

/// TrainingProgress says how far a run is.
struct TrainingProgress {
  std::int64_t updates = 0;             ///< complete updates
  std::int64_t iterations = 0;          ///< including those of an incomplete update
  std::int64_t planned_iterations = 0;  ///< of the whole run
  std::int64_t examples = 0;            ///< rows trained on, by all ranks
  double seconds = 0;      ///< since the run began, with the time before it was resumed
  double max_seconds = 0;  ///< the time limit; 0: none

  // Of the last update, once there is one.
  std::optional<double> loss;
  std::optional<std::int64_t> longest_scramble;  ///< of its rows, with generate.curriculum
  std::optional<double> searches_solved;  ///< share of its rows' searches that reached a goal
  std::optional<BusyShares> busy;

  // Of the last validation, once there is one.
  std::optional<double> solve_rate;   ///< in 0..1
  std::optional<double> value_error;  ///< nothing with a policy
};

}  // namespace tandem
