// What `tandem train` says of a run before it begins and after it has ended.
#pragma once

#include <filesystem>
#include <string>

#include "config/config.h"
#include "train/train_run.h"

namespace tandem {

/// Logs what a run of `config`, which has no `auto` left, will do. `out` is its folder. Warns if
/// its shards do not match the config.
void Announce(const Config& config, const std::string& device, const std::filesystem::path& out);

/// Logs what the run in the folder `out` has done, and what to do next.
void Report(const RunSummary& summary, const Config& config, const std::filesystem::path& out);

/// Logs how to go on with the run in the folder `out`, which has failed, if it has a checkpoint.
void ReportFailure(const std::filesystem::path& out);

}  // namespace tandem
