#include "train/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "config/fields.h"
#include "nn/device.h"
#include "nn/fused_step.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "train/checkpoint.h"

namespace tandem {
namespace {

// Without a product of hidden layers, all that the fused step and the fused copy do in bf16 is fast
// on any processor. `may_be_fused`: the config allows them.
Precision Resolved(Precision precision, bool may_be_fused, const NetworkConfig& network,
                   const Device& device) {
  if (precision != Precision::kAuto) return precision;
  const bool is_fast = may_be_fused && !HasHiddenProducts(network) &&
                       WhyNotFused(network, Precision::kBf16, device.torch()).empty();
  return is_fast || device.has_fast_bf16() ? Precision::kBf16 : Precision::kFp32;
}

Precision TrainingPrecision(const Config& config, const Device& device) {
  const bool may_be_fused =
      config.train.step == TrainStep::kAuto || config.train.step == TrainStep::kFused;
  return Resolved(config.train.precision, may_be_fused, config.network, device);
}

Precision InferencePrecision(const Config& config, const Device& device) {
  const bool may_be_fused = config.inference.forward == InferenceForward::kAuto ||
                            config.inference.forward == InferenceForward::kFused;
  return Resolved(config.inference.precision, may_be_fused, config.network, device);
}

void MakeAbsolute(std::string& path) {
  if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
}

// Returns whether the argument of the puzzle is a path. Names of the puzzles that come with Tandem
// are not paths, even if a file has the same name.
bool IsPath(const DomainConfig& domain) {
  const DomainParameter* parameter = ParameterOf(domain.name);
  return parameter != nullptr && parameter->key == "file" &&
         domain.argument.find_first_of("./") != std::string::npos;
}

// Only resnet_fc can gather its first layer, and decides that by the shape of its input.
void ResolveFirstLayer(FirstLayer& first_layer, const NetworkConfig& network) {
  if (first_layer == FirstLayer::kAuto && network.kind != kResNetFc) {
    first_layer = FirstLayer::kProduct;
  }
}

// Each of int8 and fp8 has one way to be computed.
InferenceForward ForwardFor(const Config& config, const Device& device) {
  const Precision precision = config.inference.precision;
  if (precision == Precision::kFp8) return InferenceForward::kTensors;
  const bool fused = precision == Precision::kInt8 ||
                     WhyNotFused(config.network, precision, device.torch()).empty();
  return fused ? InferenceForward::kFused : InferenceForward::kOperators;
}

}  // namespace

Config WithAbsolutePaths(Config config) {
  if (IsPath(config.domain)) MakeAbsolute(config.domain.argument);
  for (std::string* path : {&config.data.path, &config.generate.paths, &config.validation.file,
                            &config.replay.map_to, &config.network.init_from}) {
    MakeAbsolute(*path);
  }
  for (PhaseConfig& phase : config.phases) {
    for (auto& [key, value] : phase.settings) {
      if (key == "generate.paths" && value != "null") MakeAbsolute(value);
    }
  }
  return config;
}

Config ResolveAutos(Config config, const Device& device, std::int64_t processes) {
  const std::int64_t cores = std::max<std::int64_t>(1, NumCores() / processes);
  config.device = device.torch().str();
  config.pipeline.policy_lag =
      config.pipeline.policy_lag.value_or(DefaultLag(config.pipeline.mode));
  config.generate.workers = config.generate.workers.value_or(cores);
  config.train.threads = config.train.threads.value_or(cores);
  config.inference.threads = config.inference.threads.value_or(*config.train.threads);
  config.inference.batch_size = config.inference.batch_size.value_or(
      device.torch().is_cpu() ? InferenceConfig::kCpuRows : InferenceConfig::kGpuRows);
  ResolveFirstLayer(config.train.first_layer, config.network);
  ResolveFirstLayer(config.inference.first_layer, config.network);
  config.train.precision = TrainingPrecision(config, device);
  config.inference.precision = InferencePrecision(config, device);
  if (config.train.step == TrainStep::kAuto) {
    const bool fused = WhyNotFused(config.network, config.train.precision, device.torch()).empty();
    config.train.step = fused ? TrainStep::kFused : TrainStep::kAutograd;
  }
  if (config.inference.forward == InferenceForward::kAuto) {
    config.inference.forward = ForwardFor(config, device);
  }
  return config;
}

namespace {

// Keys, or prefixes of keys, that affect at most the last bits of the weights.
constexpr auto kMayChange = std::to_array<std::string_view>(
    {// How long, how fast and where the run works.
     "train.max_updates", "train.max_seconds", "train.threads", "generate.workers",
     "inference.threads", "prefetch.", "device", "memory.", "replay.map_to",
     // What it reads, writes and reports.
     "data.path", "data.on_damage", "data.reading", "data.cpu_prefetch", "data.gpu_prefetch",
     "data.max_lag", "data.stream_rows", "data.stream_shards", "checkpoint.", "search.", "report.",
     "profile.",
     // What it does when something fails.
     "train.on_invalid", "train.on_stall", "train.watchdog_seconds"});

bool MayChange(std::string_view key) {
  return std::ranges::any_of(kMayChange,
                             [&](std::string_view may) { return key.starts_with(may); });
}

}  // namespace

void CheckConfigStays(const Config& began, const Config& requested,
                      const std::filesystem::path& folder) {
  Config before = began;
  std::vector<std::string> differences;
  for (const Field& field : FieldsOf(before)) {
    const std::string value = FieldText(field);
    const std::string now = FindValueText(requested, field.key).value_or("missing");
    if (now == value || MayChange(field.key)) continue;
    differences.push_back(fmt::format("{} is {} and was {}", field.key, now, value));
  }
  if (began.phases != requested.phases) differences.emplace_back("phases differ");
  if (differences.empty()) return;
  throw InputError(fmt::format(
      "{}: differs from the config in checkpoint.pt, with which the run began: {}. Restore the old "
      "values, or train a new run from the changed config.",
      (folder / "config.yaml").string(), fmt::join(differences, "; ")));
}

namespace {

// Throws InputError if the number of updates changed and the learning rate decreases up to the last
// update.
void CheckScheduleStays(const Config& before, const Config& requested,
                        const std::filesystem::path& folder) {
  if (requested.train.max_updates == before.train.max_updates) return;
  if (!requested.phases.empty()) {
    throw InputError(fmt::format(
        "train.max_updates must stay {} in this run, because its phases begin at shares of the "
        "run. To train further, start a new run from its weights with `--set "
        "network.init_from={}`.",
        *before.train.max_updates, folder.string()));
  }
  if (!DependsOnLength(requested.optimizer.schedule)) return;
  throw InputError(fmt::format(
      "train.max_updates must stay {} in this run, because the {} schedule decreases the learning "
      "rate up to the last update. To train further, start a new run from its weights with `--set "
      "network.init_from={}`. Runs with the constant, exponential and step schedules can be "
      "extended.",
      *before.train.max_updates, ValueText(requested, "optimizer.schedule"), folder.string()));
}

}  // namespace

void WarnOfDamage(const DamagedFile& error, const std::filesystem::path& next) {
  LogWarning(error.what());
  LogWarning(fmt::format("continuing from {} instead; the updates since then are repeated",
                         next.string()));
}

void CheckMayChange(const std::vector<Override>& overrides) {
  for (const Override& override : overrides) {
    if (!MayChange(override.key)) {
      throw InputError(fmt::format(
          "{}: --resume continues a run with its own config. Only these keys may change: {}",
          override.origin, fmt::join(kMayChange, ", ")));
    }
  }
}

Config ConfigToResume(const RunDirectory& directory, const Checkpoint& checkpoint,
                      const std::vector<Override>& overrides) {
  const std::string& file = checkpoint.file();
  // A run that was killed right after its first checkpoint leaves an empty config.yaml.
  const bool written = !std::filesystem::is_empty(directory.config());
  const auto load = [&](const std::vector<Override>& with) {
    return written ? LoadConfig(directory.config(), with)
                   : ParseConfig(checkpoint.ConfigYaml(), file, with);
  };
  const Config began = ParseConfig(checkpoint.ConfigYaml(), file);
  const Config saved = load({});
  Config requested = load(overrides);
  if (!requested.train.max_updates) {
    throw InputError(
        "train.max_updates: expected a number, because --resume continues a run that has a plan");
  }
  const bool follows_clock = checkpoint.Counters().follows_clock;
  CheckScheduleStays(follows_clock ? saved : began, requested, directory.path());
  if (follows_clock && requested.train.max_updates == saved.train.max_updates) {
    // config.yaml may have revisions for updates after the checkpoint, which are planned again.
    requested.train.follows_clock = true;
    requested.train.max_updates = began.train.max_updates;
    requested.train.plan = began.train.plan;
  }
  CheckConfigStays(began, requested, directory.path());
  return requested;
}

namespace {

enum class Limit { kNone, kUpdates, kTime };

// Returns the limit that a complete run has reached, or kNone if the run can be continued.
Limit LimitReached(const Config& config, const RunCounters& done,
                   const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "summary.json")) return Limit::kNone;
  if (done.updates >= *config.train.max_updates) return Limit::kUpdates;
  const double seconds = config.train.max_seconds;
  return seconds > 0 && done.wall_s >= seconds ? Limit::kTime : Limit::kNone;
}

}  // namespace

bool IsComplete(const Config& config, const RunCounters& done,
                const std::filesystem::path& folder) {
  return LimitReached(config, done, folder) != Limit::kNone;
}

void CheckNotComplete(const Config& config, const RunCounters& done,
                      const std::filesystem::path& folder) {
  switch (LimitReached(config, done, folder)) {
    case Limit::kNone:
      return;
    case Limit::kUpdates:
      throw InputError(fmt::format(
          "{}: the run has done all its {} updates. {}", folder.string(), *config.train.max_updates,
          DependsOnLength(config.optimizer.schedule) || !config.phases.empty()
              ? fmt::format("To train further, start a new run with `--set network.init_from={}`.",
                            folder.string())
              : "Add `--set train.max_updates=N` to do more."));
    case Limit::kTime:
      throw InputError(fmt::format(
          "{}: the run has used its {} of time. Add `--set train.max_seconds=N` to give it more.",
          folder.string(), HumanSeconds(config.train.max_seconds)));
  }
}

}  // namespace tandem
