// The subcommands, as main.cc calls them. Each returns the program's exit code and throws what
// main.cc reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "shards/generate_shards.h"

namespace tandem {

class HintProvider;

enum ExitCode : int { kDone = 0, kFailed = 1, kBadInput = 2, kSignalBase = 128 };

struct DomainsArgs {
  std::string name;  ///< "": all
  bool json = false;
};

int RunDomains(const DomainsArgs& args);

/// A puzzle, and the state of it to begin with.
struct StartArgs {
  std::string domain;
  std::string state;        ///< "": a goal
  std::string scramble;     ///< moves to make first
  std::int64_t random = 0;  ///< steps of a random walk from a goal
  std::uint64_t seed = 0;   ///< of random walks
};

struct ShowArgs {
  StartArgs start;
  std::string svg;  ///< "": none is written
};

int RunShow(const ShowArgs& args);

struct ApplyArgs {
  std::string domain;
  std::string state;
  std::string moves;
};

int RunApply(const ApplyArgs& args);

struct ConvertArgs {
  std::string state;
  std::string states;             ///< a file of states instead
  std::string from = "facelets";  ///< or deepcubea, deepxube
  std::string to = "facelets";
  std::string out;  ///< "": standard output
};

int RunConvert(const ConvertArgs& args);

int RunCheckDomain(const std::string& name);

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
  std::vector<std::string> plugins;  ///< for the runs, which are programs of their own
};

int RunCompare(const CompareArgs& args);

struct GenerateArgs {
  std::string config;
  std::string out;
  std::string share = "0/1";  ///< process I of N
  std::string compression = "none";
  ShardingOptions sharding;  ///< but for the compression
  std::vector<Override> overrides;
};

int RunGenerate(const GenerateArgs& args);

struct ShardsArgs {
  std::string folder;
  bool list = false;  ///< without reading the chunks
  bool json = false;
};

int RunShards(const ShardsArgs& args);

/// A network that `tandem train` trained, and the changes to its run's config.
struct ModelArgs {
  std::string run;
  std::string checkpoint = "last";  ///< or "best", or a file
  std::vector<Override> overrides;
};

struct SolveArgs {
  ModelArgs model;
  std::string states;
  std::string out;  ///< "": standard output
  std::optional<std::int64_t> limit;
};

struct PlayArgs {
  StartArgs start;
  ModelArgs model;  ///< of run "": none
};

int RunPlay(const PlayArgs& args);

// In libtandem_torch; torch_library.h opens it.
extern "C" int tandem_run_train(const TrainArgs& args);
extern "C" int tandem_run_generate(const GenerateArgs& args);
extern "C" int tandem_run_solve(const SolveArgs& args);
extern "C" HintProvider* tandem_open_adviser(const ModelArgs& args);  // the caller owns it

}  // namespace tandem
