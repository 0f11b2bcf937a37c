// A trained network inside another program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/stop_signal.h"
#include "config/config.h"
#include "config/load.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tandem/rows.h"

namespace tandem {

/// ModelArgs names the networks of runs, and changes to the runs' configs. If there is more than
/// one network, their mean is used.
struct ModelArgs {
  std::vector<std::string> runs;                    ///< folders; at least one
  std::vector<std::string> checkpoints = {"last"};  ///< of each run: "last", "best" or a file
  std::vector<Override> overrides;
};

/// TrainedNetwork is a LoadedModel for a program that does not include LibTorch: it estimates
/// states and solves puzzles with the networks of runs. Only one call at a time; successive calls
/// may come from different threads. Errors are those of `tandem solve`.
class TrainedNetwork {
 public:
  /// Opens runs. Throws InputError that names what is missing or does not match.
  explicit TrainedNetwork(const ModelArgs& args);
  ~TrainedNetwork();
  TrainedNetwork(const TrainedNetwork&) = delete;
  TrainedNetwork& operator=(const TrainedNetwork&) = delete;

  /// The config of the first run, with the changes of ModelArgs and without `auto`.
  const Config& config() const;
  const Domain& domain() const;

  /// The iterations that the first network was trained for.
  std::int64_t iterations() const;

  /// Sets values[i] to the estimated cost-to-go of row i of `inputs`, which Domain::Encode wrote.
  /// Throws InputError if the network is a policy, which estimates no costs.
  void Evaluate(ConstRows inputs, std::span<float> values);

  /// Sets values[i * num_actions + a] to the value of action a in row i (Evaluator). Throws
  /// InputError if the network has no values of actions.
  void EvaluateActions(ConstRows inputs, std::span<float> values);

  /// Searches for a solution from each state, as the config says, and replays every solution.
  /// Calls `done` on this thread when a puzzle ends. Throws Stopped once `stop` is reached.
  void Solve(ConstRows states, const StopSignal& stop, const Search::Done& done);

  /// Says why a search of Solve found no solution, and which keys to change.
  std::string Failure(const SearchResult& result) const;

 private:
  struct Loaded;
  std::unique_ptr<Loaded> loaded_;
};

/// Makes a folder that can be used as that of a run, without being resumed, from the network of
/// another program. `weights` is a safetensors file with the tensors of the network of `config`.
/// `source` is the file that they come from; errors name it. Throws InputError if the tensors are
/// not those of the network; the folder is not made then.
void WriteImportedNetwork(const std::filesystem::path& weights, const std::string& source,
                          const Config& config, const std::filesystem::path& folder);

}  // namespace tandem
