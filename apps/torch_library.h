// The boundary between the program and libtandem_torch, which holds the work that needs LibTorch
// (apps/torch/). The program opens the library on first use, because loading LibTorch takes half a
// second, and `tandem --help` should not take that long.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/evaluator.h"
#include "train/trained_network.h"

namespace tandem {

struct TrainArgs {
  std::string config;
  std::string out;     ///< "": a new folder under runs/
  std::string resume;  ///< run to continue; "": start a run from `config`
  std::vector<Override> overrides;
};

struct SolveArgs {
  ModelArgs model;
  std::string states;  ///< a file; "": solve the state that `scramble` makes from the goal
  std::string scramble;
  std::string out;  ///< "": standard output
  std::optional<std::int64_t> limit;
};

struct EvaluateArgs {
  std::string run;
  std::vector<Override> overrides;   ///< changes to the run's config
  std::string checkpoints = "last";  ///< "all", or "last", "best" and files, separated by commas
  bool untrained = false;            ///< also the network before the first update
  std::string states;
  std::optional<std::int64_t> limit;
  std::string json;  ///< "": none
};

/// Labelling says how the rows of `tandem generate` get their labels.
struct Labelling {
  Config config;                 ///< without `auto`
  Evaluator* network = nullptr;  ///< null if the target needs no network
  std::string weights_sha256;    ///< of the network
  std::string instruction_set;   ///< CPU instructions that evaluate the network: "AVX512"
  /// Replaces the network's weights by those of a checkpoint of the same network, and returns their
  /// SHA-256. Throws InputError that names the file if that fails.
  std::function<std::string(const std::filesystem::path&)> load;
};

/// PuzzleModel is a trained network with its puzzle.
struct PuzzleModel {
  const Domain& domain;
  Evaluator& network;
  std::function<std::unique_ptr<Search>()> make_search;       ///< the search of `tandem solve`
  std::function<std::unique_ptr<Search>()> make_move_search;  ///< in a game, makes one move
};

/// TorchLibrary is the table of the functions that libtandem_torch exports.
struct TorchLibrary {
  // Each runs the subcommand of its name, and returns the exit code.
  int (*run_train)(const TrainArgs& args);
  int (*run_solve)(const SolveArgs& args);
  int (*run_evaluate)(const EvaluateArgs& args);

  /// Calls `work` with the network of `config.network.init_from`, and returns its result.
  int (*with_labelling_network)(const Config& config,
                                const std::function<int(const Labelling&)>& work);

  /// Calls `work` with the network of a run, and returns its result. Throws InputError if the run
  /// has no network.
  int (*with_model)(const ModelArgs& args, const std::function<int(const PuzzleModel&)>& work);
};

/// Returns the functions of libtandem_torch. The first call prepares this process for LibTorch
/// (environment variables, malloc) and loads the library. Throws Error if it cannot be loaded.
const TorchLibrary& OpenTorchLibrary();

// The functions of the table. Only the library defines them: the program calls the table.
int RunTrain(const TrainArgs& args);
int RunSolve(const SolveArgs& args);
int RunEvaluate(const EvaluateArgs& args);
int WithLabellingNetwork(const Config& config, const std::function<int(const Labelling&)>& work);
int WithModel(const ModelArgs& args, const std::function<int(const PuzzleModel&)>& work);
extern "C" const TorchLibrary& tandem_torch_library();

}  // namespace tandem
