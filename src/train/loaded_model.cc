#include "train/loaded_model.h"

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "config/load.h"
#include "search/goal_ball.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "tandem/registry.h"
#include "tensor/tensor_programs.h"
#include "train/checkpoint.h"
#include "train/resolve.h"

namespace tandem {
namespace {

// Returns the run's config with the user's changes, for this machine.
Config ConfigForSolving(const RunDirectory& run, const ModelArgs& args) {
  Config config =
      LoadConfig(run.config(), ForThisMachine("the default of solving", args.overrides));
  // The machine of the run had what its backend needs, but this one may not.
  if (!IsOverridden(args.overrides, "backend") && config.backend != BackendKind::kReference) {
    config.backend = BackendKind::kAuto;
  }
  return config;
}

// Advice for a checkpoint.safetensors that is missing or damaged: a sentence, or "" if there is no
// best.safetensors.
std::string AdviceToUseBest(const RunDirectory& run, const std::string& option) {
  if (!std::filesystem::exists(run.best())) return "";
  return fmt::format(" Use {} best, the network that solved most in validation.", option);
}

}  // namespace

std::filesystem::path CheckpointOf(const RunDirectory& run, const std::string& which,
                                   const std::string& option) {
  std::filesystem::path path = which == "last"   ? run.checkpoint()
                               : which == "best" ? run.best()
                                                 : CheckpointIn(which);
  if (std::filesystem::exists(path)) return path;
  const std::string folder = run.path().string();
  if (which == "last") {
    throw InputError(folder + " has no checkpoint.safetensors." + AdviceToUseBest(run, option));
  }
  throw InputError(
      which == "best"
          ? fmt::format("{} has no best.safetensors, which a run writes when it is validated "
                        "(validation.every_updates above 0). Use {} last.",
                        folder, option)
          : fmt::format("{} {}: expected last, best or an existing file", option, which));
}

void ThrowAgainWithAdvice(const DamagedFile& error, const RunDirectory& run,
                          const std::string& which, const std::string& option) {
  const std::string advice = which == "last" ? AdviceToUseBest(run, option) : "";
  const std::string_view what = error.what();
  if (advice.empty()) throw DamagedFile(error);
  throw DamagedFile(fmt::format("{}{}{}", what, what.ends_with('.') ? "" : ".", advice));
}

LoadedModel::LoadedModel(const ModelArgs& args) {
  const RunDirectory first = RunDirectory::Open(args.runs.front());
  const Config asked = ConfigForSolving(first, args);
  for (const std::string& sentence : DescribeUnusedSearchKeys(asked, args.overrides)) {
    LogWarning(sentence);
  }
  device_ = OpenDevice(asked.device);
  config_ = ResolveAutos(asked, *device_);
  domain_ = MakeDomain(config_.domain.full_name());
  AddNetworksOf(first, config_, args);
  for (const std::string& run : std::span(args.runs).subspan(1)) {
    const RunDirectory other = RunDirectory::Open(run);
    const Config config = ConfigForSolving(other, args);
    CheckMatches(run, config, args.runs.front());
    AddNetworksOf(other, ResolveAutos(config, *device_), args);
  }
  if (nets_.size() == 1) return;
  std::vector<Evaluator*> networks;
  for (const auto& net : nets_) networks.push_back(net.get());
  ensemble_ = std::make_unique<Ensemble>(std::move(networks));
  LogInfo(fmt::format("using the mean of {} networks", nets_.size()));
}

void LoadedModel::CheckMatches(const std::string& run, const Config& config,
                               const std::string& first) const {
  const auto describe = [](const Config& of) {
    return fmt::format("{} network for {}", NameOf(kHeads, of.network.head), of.domain.full_name());
  };
  if (describe(config) == describe(config_)) return;
  throw InputError(fmt::format(
      "--model {}: its network is a {}, expected a {}, as in {}. Choose runs of the same puzzle, "
      "input and head.",
      run, describe(config), describe(config_), first));
}

void LoadedModel::AddNetworksOf(const RunDirectory& run, const Config& config,
                                const ModelArgs& args) {
  for (const std::string& which : args.checkpoints) {
    if (args.runs.size() > 1 && which != "last" && which != "best") {
      throw InputError(fmt::format(
          "--checkpoint {}: a file is a network of one run, and there are several --model. Use "
          "last or best.",
          which));
    }
    UseCheckpoint(run, which, "--checkpoint",
                  [&](const std::filesystem::path& file) { AddNetwork(file, config); });
  }
}

void LoadedModel::AddNetwork(const std::filesystem::path& checkpoint, const Config& config) {
  const NetworkSpec spec = NetworkFor(config.network, domain_->spec());
  nets_.push_back(std::make_unique<InferenceNet>(spec, config.inference, *device_));
  const std::int64_t iterations = LoadInto(*nets_.back(), checkpoint, spec);
  if (nets_.size() == 1) iterations_ = iterations;
  if (iterations == 0 && !IsImported(checkpoint)) {
    LogWarning(
        fmt::format("{}: this network was not trained: its run stopped before the first iteration",
                    checkpoint.string()));
  }
}

void LoadedModel::Load(const std::filesystem::path& checkpoint) {
  iterations_ = LoadInto(*nets_.front(), checkpoint, NetworkFor(config_.network, domain_->spec()));
}

std::int64_t LoadedModel::LoadInto(InferenceNet& net, const std::filesystem::path& checkpoint,
                                   const NetworkSpec& spec) const {
  const std::unique_ptr<Network> loaded = MakeNetwork(spec, /*seed=*/0);
  const Checkpoint file(checkpoint);
  file.LoadModel(*loaded, domain_->spec().identity());
  net.Load(*loaded);
  return file.iterations();
}

void LoadedModel::LoadInitial() {
  nets_.front()->Load(*MakeInitialNet(config_, domain_->spec()));
  iterations_ = 0;
}

std::unique_ptr<Search> LoadedModel::MakeSearch() {
  if (config_.search.program == Program::kTensor) {
    if (ensemble_ != nullptr) {
      throw InputError(fmt::format(
          "`search.program: tensor`: there are {} networks, expected one. Give one --model and one "
          "--checkpoint, or set search.program to domain.",
          nets_.size()));
    }
    return MakeTensorBeamSearch(domain(), *nets_.front(), config_, *device_,
                                MakeGoalBall(domain(), config_.search.ball_radius, config_.memory));
  }
  return tandem::MakeSearch(domain(), net(), config_);
}

std::unique_ptr<Search> LoadedModel::MakeMoveSearch() {
  if (AsGame(domain()) == nullptr) return MakeSearch();
  Config config = config_;
  config.search.max_length = 1;
  return tandem::MakeSearch(domain(), net(), config);
}

}  // namespace tandem
