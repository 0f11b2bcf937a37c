// Trained networks that solve puzzles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "config/config.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "search/evaluation.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "train/run_directory.h"
#include "train/trained_network.h"

namespace tandem {

/// LoadedModel is the network of a checkpoint, or the mean of several networks, with its puzzle.
/// It makes searches that use both.
class LoadedModel {
 public:
  /// Opens runs. The config is that of the first one. Throws InputError that names what is missing
  /// or does not match.
  explicit LoadedModel(const ModelArgs& args);

  const Config& config() const { return config_; }
  const Domain& domain() const { return *domain_; }
  Evaluator& net() {
    return ensemble_ != nullptr ? static_cast<Evaluator&>(*ensemble_) : *nets_.front();
  }

  /// The iterations that the first network was trained for.
  std::int64_t iterations() const { return iterations_; }

  /// Replaces the network by that of another checkpoint. Searches that were made before then use
  /// the new network. Throws InputError if the checkpoint does not match the run; the network is
  /// then unspecified. Must not be called if there are several networks.
  void Load(const std::filesystem::path& checkpoint);

  /// Replaces the network by that of the run before its first update. Must not be called if there
  /// are several networks.
  void LoadInitial();

  /// Makes the search that the config selects, which gives solutions without detours. It must not
  /// outlive the LoadedModel.
  std::unique_ptr<Search> MakeSearch();
  /// Makes the same search, but in a game it makes one move and does not play to the end.
  std::unique_ptr<Search> MakeMoveSearch();

 private:
  void AddNetworksOf(const RunDirectory& run, const Config& config, const ModelArgs& args);
  void AddNetwork(const std::filesystem::path& checkpoint, const Config& config);
  // Loads a checkpoint into `net`, which has this spec. Returns the iterations it was trained for.
  std::int64_t LoadInto(InferenceNet& net, const std::filesystem::path& checkpoint,
                        const NetworkSpec& spec) const;
  void CheckMatches(const std::string& run, const Config& config, const std::string& first) const;

  Config config_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<const Domain> domain_;
  std::vector<std::unique_ptr<InferenceNet>> nets_;
  std::unique_ptr<Ensemble> ensemble_;  // null if there is one network
  std::int64_t iterations_ = 0;
};

/// Returns the file of a run that `which` names: "last", "best" or a path. Throws InputError,
/// naming `option`, if it does not exist.
std::filesystem::path CheckpointOf(const RunDirectory& run, const std::string& which,
                                   const std::string& option);

/// Throws `error` again, which a checkpoint of the run caused. If `which` is "last" and the run has
/// a best network, the message advises to use that with `option`.
[[noreturn]] void ThrowAgainWithAdvice(const DamagedFile& error, const RunDirectory& run,
                                       const std::string& which, const std::string& option);

/// Returns use(file) for the file that CheckpointOf returns. Throws what CheckpointOf and `use`
/// throw, and advises to use another checkpoint if the last one is damaged.
template <class Use>
auto UseCheckpoint(const RunDirectory& run, const std::string& which, const std::string& option,
                   const Use& use) {
  const std::filesystem::path file = CheckpointOf(run, which, option);
  try {
    return use(file);
  } catch (const DamagedFile& error) {
    ThrowAgainWithAdvice(error, run, which, option);
  }
}

}  // namespace tandem
