// A training run inside another program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"

namespace tandem {

class StopSignal;

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

/// TrainingResult says what a run has done.
struct TrainingResult {
  std::int64_t updates = 0;
  std::int64_t examples = 0;
  double seconds = 0;
  double final_loss = 0;             ///< of the last update
  std::optional<double> solve_rate;  ///< in 0..1, of the last validation, if there was one
  std::string weights_sha256;
};

/// Training is a run of `tandem train` inside another program. It writes the same folder and
/// gives the same weights. The header does not need LibTorch.
///
///     tandem::Config config = tandem::LoadConfig("cube.yaml");
///     tandem::Training training(config, "runs/cube");
///     while (training.RunUpdate()) {
///     }
///     std::cout << training.Finish().final_loss;
///
/// Call all methods except RequestStop from one thread. Errors are those of `tandem train`:
/// InputError if the run cannot be made as asked, Error if it fails. The calling thread may be in
/// another mode of LibTorch (NoGradGuard, InferenceMode, autocast), which is off meanwhile.
class Training {
 public:
  /// Starts a run in `folder`, which must be new or empty. Replaces what is `auto` in the config,
  /// which may take a few seconds. Throws InputError that names the key if a value of `config` is
  /// one that no file may have, or if LibTorch's default type of tensors is not Float. The run also
  /// ends once `stop` is reached, which must outlive it; null: no such signal. Throws Stopped if
  /// that is so before the run begins.
  Training(const Config& config, const std::filesystem::path& folder,
           const StopSignal* stop = nullptr);

  /// Continues the run in `folder` from its newest checkpoint that is not damaged, as `tandem train
  /// --resume` does. `overrides` may change a few keys, such as train.max_updates.
  static std::unique_ptr<Training> Resume(const std::filesystem::path& folder,
                                          const std::vector<Override>& overrides = {},
                                          const StopSignal* stop = nullptr);

  /// Joins all threads that the run started. Without Finish, the folder keeps the last checkpoint.
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// Runs the next update. Returns false once all updates are done, the time of train.max_seconds
  /// is up, or a stop was requested. After an update has failed, the run can only be resumed:
  /// this and Finish then throw Error.
  bool RunUpdate();

  /// Returns how far the run is. It counts the iterations of an update that was cut short.
  TrainingProgress progress() const;

  /// The config of the run, without `auto`.
  const Config& config() const;

  /// Ends the run after the current iteration. Safe in a signal handler and from any thread.
  void RequestStop() noexcept;

  /// Validates the network, and writes the last checkpoint and the summary. Call once, after
  /// RunUpdate returned false.
  TrainingResult Finish();

 private:
  struct Run;
  explicit Training(std::unique_ptr<Run> run);

  std::unique_ptr<Run> run_;
};

}  // namespace tandem
