// Small training runs, and observers of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/load.h"
#include "nn/device.h"
#include "train/checkpoint.h"
#include "train/resolve.h"
#include "train/run_directory.h"
#include "train/train_run.h"

namespace tandem {

/// The config in `yaml`, changed by each KEY=VALUE of `sets`. Every `auto` is replaced, except that
/// of train.max_updates.
inline Config ConfigWith(const std::string& yaml, const std::vector<std::string>& sets,
                         const Device& device) {
  std::vector<Override> overrides;
  for (const std::string& set : sets) overrides.push_back(ParseOverride(set));
  return ResolveAutos(ParseConfig(yaml, "small.yaml", overrides), device);
}

/// Runs the remaining updates and finishes the run.
inline RunSummary ToTheEnd(TrainRun& run) {
  while (run.RunUpdate()) {
  }
  return run.Finish();
}

/// Runs the remaining updates and finishes the run. Each checkpoint is complete before the next one
/// is due.
inline RunSummary ToTheEndWithEachCheckpoint(TrainRun& run) {
  while (run.RunUpdate()) run.AwaitCheckpoint();
  return run.Finish();
}

/// Does a whole run of `config`.
inline RunSummary TrainToTheEnd(const Config& config, const std::shared_ptr<Device>& device,
                                std::optional<RunDirectory> directory = std::nullopt) {
  const StopSignal never;
  TrainRun run(config, {.device = device, .directory = std::move(directory), .stop = never});
  return ToTheEnd(run);
}

/// Continues the run in `folder` from its checkpoint.safetensors to its end.
inline RunSummary ResumeRun(const std::filesystem::path& folder,
                            const std::shared_ptr<Device>& device) {
  const StopSignal never;
  const RunDirectory directory = RunDirectory::Reopen(folder);
  const Checkpoint checkpoint(directory.checkpoint());
  TrainRun run(LoadConfig(directory.config()),
               {.device = device, .directory = directory, .stop = never, .from = &checkpoint});
  return ToTheEnd(run);
}

/// The lines of a run's metrics.jsonl.
inline std::vector<nlohmann::json> MetricsOf(const std::filesystem::path& folder) {
  std::vector<nlohmann::json> lines;
  std::ifstream metrics(folder / "metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// Stops `run` after a number of iterations.
inline void StopAfter(TrainRun& run, std::int64_t iterations) {
  run.ObserveIterations([&run, iterations](const TrainingProgress& progress) {
    if (progress.iterations == iterations) run.RequestStop();
  });
}

}  // namespace tandem
