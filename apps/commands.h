// The subcommands and their arguments. Each Run function returns the program's exit code. Errors
// are exceptions, which main.cc reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "generate/generate_shards.h"

namespace tandem {

class HintProvider;

enum ExitCode : int { kDone = 0, kFailed = 1, kBadInput = 2, kSignalBase = 128 };

struct DomainsArgs {
  std::string name;  ///< "": list all puzzles
  bool json = false;
};

int RunDomains(const DomainsArgs& args);

/// `StartArgs` names a puzzle and its start state.
struct StartArgs {
  std::string domain;
  std::string state;        ///< in the puzzle's notation; "": a goal
  std::string scramble;     ///< moves to make before the start
  std::int64_t random = 0;  ///< steps of a random walk from a goal
  std::uint64_t seed = 0;   ///< seed of the random walk
};

struct ShowArgs {
  StartArgs start;
  std::string svg;  ///< file to write; "": none
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
  std::string states;             ///< file of states, instead of `state`
  std::string from = "facelets";  ///< facelets, deepcubea or deepxube
  std::string to = "facelets";
  std::string out;  ///< "": standard output
};

int RunConvert(const ConvertArgs& args);

int RunCheckDomain(const std::string& name);

struct ConfigArgs {
  std::string file;
  bool reference = false;  ///< print the reference; `file` is then empty
  std::vector<Override> overrides;
};

int RunConfig(const ConfigArgs& args);

struct TrainArgs {
  std::string config;
  std::string out;     ///< "": a new folder under runs/
  std::string resume;  ///< run to continue; "": start a run from `config`
  std::vector<Override> overrides;
};

struct CompareArgs {
  std::string config;
  std::string modes = "sequential,async";
  std::string seeds = "1";
  std::vector<std::string> vary;  ///< each "KEY=V1,V2"
  std::string json;               ///< extra file for the results; "": none
  std::string out;                ///< "": a new folder under runs/
  std::vector<Override> overrides;
  std::vector<std::string> plugins;  ///< to load in each run, which is a process of its own
};

int RunCompare(const CompareArgs& args);

struct GenerateArgs {
  std::string config;
  std::string out;
  std::string share = "0/1";  ///< process I of N
  std::string compression = "none";
  ShardingOptions sharding;  ///< except the compression, which is above
  std::vector<Override> overrides;
};

int RunGenerate(const GenerateArgs& args);

struct ShardsArgs {
  std::string folder;
  bool list = false;  ///< do not read the chunks
  bool json = false;
};

int RunShards(const ShardsArgs& args);

/// `ModelArgs` names a network that `tandem train` trained, and changes to its run's config.
struct ModelArgs {
  std::string run;
  std::string checkpoint = "last";  ///< "last", "best" or a file
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
  ModelArgs model;  ///< no network if `model.run` is empty
};

int RunPlay(const PlayArgs& args);

// These are defined in libtandem_torch, which torch_library.h loads on first use.
extern "C" int tandem_run_train(const TrainArgs& args);
extern "C" int tandem_run_generate(const GenerateArgs& args);
extern "C" int tandem_run_solve(const SolveArgs& args);
extern "C" HintProvider* tandem_open_hint_provider(const ModelArgs& args);  // the caller owns it

}  // namespace tandem
