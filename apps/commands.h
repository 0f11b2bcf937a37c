// The subcommands, as main.cc calls them. Each returns the program's exit code and throws what
// main.cc reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"

namespace tandem {

enum ExitCode : int { kDone = 0, kFailed = 1, kBadInput = 2, kSignalBase = 128 };

int RunDomains(const std::string& name);

struct ConfigArgs {
  std::string file;
  bool reference = false;  ///< then there is no file
  std::vector<Override> overrides;
};

int RunConfig(const ConfigArgs& args);

struct TrainArgs {
  std::string config;
  std::string out;     ///< "": a new folder under runs/
  std::string resume;  ///< "": a new run from `config`
  std::vector<Override> overrides;
};

struct CompareArgs {
  std::string config;
  std::string modes = "sequential,async";
  std::string seeds = "1";
  std::vector<std::string> vary;  ///< each "KEY=V1,V2"
  std::string json;               ///< "": only in the folder
  std::string out;                ///< "": a new folder under runs/
  std::vector<Override> overrides;
};

int RunCompare(const CompareArgs& args);

struct SolveArgs {
  std::string model;
  std::string checkpoint = "last";  ///< or "best", or a file
  std::string states;
  std::string out;  ///< "": standard output
  std::optional<std::int64_t> limit;
  std::vector<Override> overrides;
};

// In libtandem_torch; torch_library.h opens it.
extern "C" int tandem_run_train(const TrainArgs& args);
extern "C" int tandem_run_solve(const SolveArgs& args);

}  // namespace tandem
