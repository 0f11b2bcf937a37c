// tandem export, tandem import: networks for other programs, and from them.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/output.h"
#include "apps/torch/deepxube_puzzle.h"
#include "apps/torch_library.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/write.h"
#include "nn/deepxube_weights.h"
#include "nn/network_weights.h"
#include "nn/tensor_file.h"
#include "nn/torch_message.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"
#include "train/loaded_model.h"
#include "train/resolve.h"
#include "train/run_directory.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::string Describe(const NetworkConfig& network) {
  return fmt::format("{}, head {}, {}{} wide, {}, norm {}, input_layer {}", network.kind,
                     NameOf(kHeads, network.head),
                     network.stem_width > 0 ? fmt::format("{}-", network.stem_width) : "",
                     network.width, Counted(network.blocks, "block"), NameOf(kNorms, network.norm),
                     NameOf(kInputLayers, network.input_layer));
}

// What a program that reads the safetensors file has to know in addition to the tensors.
std::map<std::string, std::string> MetadataFor(const DomainSpec& domain, const NetworkSpec& spec,
                                               std::int64_t iterations) {
  return {{"format", "pt"},
          {"tandem.domain", domain.identity()},
          {"tandem.input_positions", std::to_string(spec.input.positions)},
          {"tandem.input_depth", std::to_string(spec.input.depth)},
          {"tandem.kind", spec.layers.kind},
          {"tandem.head", std::string(NameOf(kHeads, spec.layers.head))},
          {"tandem.norm", std::string(NameOf(kNorms, spec.layers.norm))},
          {"tandem.activation", std::string(NameOf(kActivations, spec.layers.activation))},
          {"tandem.input_layer", std::string(NameOf(kInputLayers, spec.layers.input_layer))},
          {"tandem.iterations", std::to_string(iterations)}};
}

void ExportToDeepXube(const fs::path& out, const StateDict& state, const NetworkSpec& spec,
                      const DomainSpec& domain) {
  const DeepXubePuzzle puzzle = DeepXubePuzzleFor(domain);
  const DeepXubeNetwork network = ToDeepXube(state, spec, puzzle);
  WriteTensorFile(out, ToTensorDict(network.state));
  const bool is_q = IsQ(spec.layers.head);
  LogInfo(fmt::format("for DeepXube: --domain {} --heur {} --heur_type {} --heur_file {}",
                      puzzle.domain, network.name, is_q ? "QFix" : "V", ShellWord(out.string())));
  if (is_q && !puzzle.takes_q) {
    LogWarning(fmt::format(
        "DeepXube 0.3.2 has V nets only for {}; a Q net needs a domain of your own in ./domains/ "
        "that also derives from HasFlatSGActsEnumFixedIn (docs/deepxube.md)",
        puzzle.domain));
  }
}

int Export(const ExportArgs& args) {
  const RunDirectory run = RunDirectory::Open(args.run);
  const Config config = LoadConfig(run.config());
  const std::unique_ptr<const Domain> domain = MakeDomain(config.domain.full_name());
  const fs::path checkpoint = CheckpointOf(run, args.checkpoint, "--checkpoint");
  const fs::path out = args.out;
  std::vector<NamedFile> inputs = FilesOf(config);
  inputs.push_back({"the checkpoint to export", checkpoint});
  CheckOutputs({{"--out", out}}, inputs);
  const NetworkSpec spec = NetworkFor(config.network, domain->spec());
  const std::unique_ptr<Network> net = MakeNetwork(spec, /*seed=*/0);
  const Checkpoint file(checkpoint);
  file.LoadModel(*net, domain->spec().identity());
  const StateDict state = CloneOf(net->State());
  CheckCanWrite(out);
  if (args.format == "deepxube") {
    ExportToDeepXube(out, state, spec, domain->spec());
  } else if (args.format == "safetensors") {
    WriteSafetensors(out, state, MetadataFor(domain->spec(), spec, file.iterations()));
  } else {
    WriteTensorFile(out, ToTensorDict(state));
  }
  LogInfo(fmt::format("{}: {}, {}", args.out, domain->spec().name, Describe(config.network)));
  return kDone;
}

// The end of an error about a network that does not fit: the user may have left out the puzzle.
std::string DefaultPuzzleHint(const ImportArgs& args, const DomainConfig& domain) {
  if (!args.config.empty() || IsOverridden(args.overrides, "domain.name")) return "";
  return fmt::format(
      ", for {}, the default puzzle. Name the puzzle with --config or --set domain.name.",
      domain.full_name());
}

// Reads the network in `args.file`. Errors name the file.
NetworkWeights ReadNetwork(const ImportArgs& args, const TensorDict& weights, const Config& asked,
                           const DomainSpec& domain) {
  if (weights.contains("schema")) {
    throw InputError(fmt::format(
        "{}: this is a checkpoint of Tandem, expected weights without a run. Use it as it is: "
        "tandem solve --checkpoint, or network.init_from.",
        args.file));
  }
  const bool is_deepxube = IsDeepXube(weights);
  const DeepXubePuzzle puzzle = is_deepxube ? DeepXubePuzzleFor(domain) : DeepXubePuzzle();
  try {
    return is_deepxube ? FromDeepXube(weights, puzzle, domain.input)
                       : FromTandem(weights, asked.network);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{}: {}{}", args.file, error.what(), DefaultPuzzleHint(args, asked.domain)));
  }
}

// Throws InputError if keys of the user's config, whose YAML is `yaml`, contradict the network of
// the file. `config` has that network.
void CheckFits(const ImportArgs& args, const std::string& yaml, const std::string& name,
               Config config) {
  std::vector<Override> overrides = args.overrides;
  for (const Field& field : FieldsOf(config)) {
    if (field.section() != "network") continue;
    overrides.push_back({field.key, FieldText(field), args.file});
  }
  try {
    ParseConfig(yaml, name, overrides);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{} describes the keys under `network`, so only other keys can be changed, "
                    "with --config or "
                    "--set: {}",
                    args.file, error.what()));
  }
}

int Import(const ImportArgs& args) {
  const std::string name = args.config.empty() ? "the defaults" : args.config;
  const std::string yaml = args.config.empty() ? "{}" : ReadInput(args.config, kMostConfigBytes);
  Config config = ParseConfig(yaml, name, args.overrides);
  const std::unique_ptr<const Domain> domain = MakeDomain(config.domain.full_name());
  const TensorDict weights = ReadWeights(args.file);
  const NetworkWeights read = ReadNetwork(args, weights, config, domain->spec());
  config.network = read.layers;
  config.network.init_from.clear();
  CheckFits(args, yaml, name, config);
  const std::unique_ptr<Network> net =
      MakeNetwork(NetworkFor(config.network, domain->spec()), /*seed=*/0);
  const StateDict state = net->State();
  try {
    LoadStateDict(ToTensorDict(read.state), state, args.file);
  } catch (const InputError& error) {
    throw InputError(error.what() + DefaultPuzzleHint(args, config.domain));
  }

  const RunDirectory run = RunDirectory::Create(args.out);
  const nlohmann::ordered_json record = {{"schema", 1},
                                         {"file", args.file},
                                         {"program", IsDeepXube(weights) ? "deepxube" : "tandem"},
                                         {"weights_sha256", WeightsSha256(state)}};
  try {
    WriteFileAtomically(run.import_record(), DumpJson(record, 2) + "\n");
    WriteCheckpoint(run.checkpoint(), domain->spec().identity(), config.network, RunCounters(),
                    state, /*resume=*/nullptr);
    WriteFileAtomically(run.config(), ToYaml(WithAbsolutePaths(config)));
  } catch (...) {
    std::error_code ignored;
    for (const fs::path& file : {run.import_record(), run.checkpoint()}) fs::remove(file, ignored);
    run.Abandon();
    throw;
  }
  LogInfo(fmt::format("{}: {}, {}", args.out, domain->spec().name, Describe(config.network)));
  LogNextCommand(fmt::format("solve --model {} --states FILE", ShellWord(args.out)));
  return kDone;
}

}  // namespace

int RunExport(const ExportArgs& args) {
  return WithPlainErrors([&] { return Export(args); });
}

int RunImport(const ImportArgs& args) {
  return WithPlainErrors([&] { return Import(args); });
}

}  // namespace tandem
