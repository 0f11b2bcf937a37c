#include "train/initial_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "config/fields.h"
#include "config/load.h"
#include "data/run_files.h"
#include "tandem/error.h"
#include "train/checkpoint.h"
#include "train/run_directory.h"

namespace tandem {
namespace {

// Returns the config of the run that wrote a checkpoint, or nothing if it is not known.
// best.safetensors has no config, but the folder of its run does.
std::optional<Config> ConfigOf(const Checkpoint& checkpoint) {
  try {
    return checkpoint.ReadConfig();
  } catch (const InputError&) {
  }
  const auto file = std::filesystem::path(checkpoint.file()).parent_path() / kConfigFile;
  try {
    return ParseConfig(ReadFile(file), file.string());
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// Returns how the network of `config` differs from that of a checkpoint: "network.width is 64, but
// 1000 in the checkpoint". Returns "" if no difference is known, or if Checkpoint::LoadModel names
// the key itself.
std::string NetworkDifferences(const Config& config, const Checkpoint& checkpoint) {
  std::optional<Config> trained = ConfigOf(checkpoint);
  if (!trained) return "";
  std::vector<std::string> differences;
  for (const Field& field : FieldsOf(*trained)) {
    if (field.section() != "network" || field.key == "network.init_from") continue;
    const std::string now = ValueText(config, field.key);
    const std::string then = FieldText(field);
    if (now == then) continue;
    if (field.key == "network.kind" || field.key == "network.activation") return "";
    differences.push_back(fmt::format("{} is {}, but {} in the checkpoint", field.key, now, then));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

// Copies the weights of a checkpoint into `net`, the network of `config`.
void LoadWeights(const Checkpoint& checkpoint, const Config& config, const DomainSpec& domain,
                 Network& net) {
  checkpoint.CheckDomain(domain.identity());
  try {
    checkpoint.LoadModel(net, domain.identity());
  } catch (const DamagedFile&) {
    throw;
  } catch (const InputError&) {
    const std::string differences = NetworkDifferences(config, checkpoint);
    if (differences.empty()) throw;
    throw InputError(fmt::format(
        "{}: the network of the config differs from that of the checkpoint: {}. Set the keys to "
        "the values of the checkpoint, or use another checkpoint.",
        checkpoint.file(), differences));
  }
}

}  // namespace

std::unique_ptr<Network> MakeInitialNet(const Config& config, const DomainSpec& domain) {
  auto net = MakeNetwork(NetworkFor(config.network, domain), config.random_seed());
  if (!config.network.init_from.empty()) {
    LoadWeights(Checkpoint(CheckpointIn(config.network.init_from)), config, domain, *net);
  }
  return net;
}

}  // namespace tandem
