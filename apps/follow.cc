#include "apps/follow.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "apps/output.h"
#include "apps/torch_library.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/signals.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/load.h"
#include "data/run_files.h"
#include "data/stream_manifest.h"
#include "domain/plugin.h"
#include "generate/generator.h"
#include "generate/shard_jobs.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Returns a name for a generator that its user gave none.
std::string DefaultName() {
  std::string name = fmt::format("{:.39}-{}", HostName(), ::getpid());
  std::erase_if(name, [](char c) { return !IsGeneratorName({&c, 1}); });
  return name;
}

// Returns the config of the run that published `manifest`, for this machine.
Config ConfigToFollow(const FollowArgs& args, const StreamManifest& manifest) {
  const std::string file = ManifestOf(args.run).string();
  const std::vector<Override> overrides =
      ForThisMachine("the default of --follow", args.overrides,
                     {"generate.workers", "generate.chunk_rows", "backend"});
  Config config = ParseConfig(manifest.config, file, overrides);
  const Config of_run = ParseConfig(manifest.config, file);
  const auto domain = MakeDomain(of_run.domain.full_name());
  const ShardSetSpec expected = StreamKind(of_run, domain->spec());
  if (domain->spec().identity() != manifest.domain) {
    throw InputError(fmt::format(
        "{}: the run is for {}, but here the puzzle is {}. Use the same version of the puzzle.",
        file, manifest.domain, domain->spec().identity()));
  }
  if (const ShardSetSpec kind = StreamKind(config, MakeDomain(config.domain.full_name())->spec());
      kind != expected) {
    throw InputError(fmt::format("{}: --set may not change which rows the run gets: {}", file,
                                 DescribeDifference(expected, kind)));
  }
  config.network.init_from = PublishedWeights(args.run, manifest.version).string();
  config.generate.program = Program::kDomain;
  return config;
}

// Logs what a generator has done every few seconds, and the name of each shard on standard output.
class FollowReporter {
 public:
  void Wrote(const std::string& file, const FollowProgress& progress) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    if (since_reported_.Seconds() < kReportInterval) return;
    since_reported_ = Stopwatch();
    LogInfo(Describe(progress));
  }

  static std::string Describe(const FollowProgress& progress) {
    const double rate =
        progress.generate_s > 0 ? static_cast<double>(progress.rows) / progress.generate_s : 0.0;
    const std::string version =
        progress.shards > 0 ? fmt::format("; weights of update {}", progress.version) : "";
    return fmt::format("{} examples in {} ({} examples/s while generating), paused {}{}",
                       WithThousands(progress.rows), Counted(progress.shards, "shard"),
                       WithThousands(static_cast<long long>(rate)), HumanSeconds(progress.paused_s),
                       version);
  }

 private:
  Stopwatch since_reported_;
};

// Follows the run until it ends or gets another config.
FollowEnd FollowWith(const FollowArgs& args, const StreamManifest& manifest,
                     const Labelling& labelling, const StopSignal& stop, FollowProgress& progress) {
  const Config& config = labelling.config;
  const auto domain = MakeDomain(config.domain.full_name());
  CheckPluginDomain(*domain);
  const auto generator = MakeGenerator(*domain, config, labelling.network);
  const StreamFolder folder(StreamPathOf(args.run, config));
  LogInfo(fmt::format("{} generates for {}: {} rows per shard into {}, {} on {}", args.name,
                      args.run, WithThousands(config.data.stream_rows), folder.path().string(),
                      Counted(*config.generate.workers, "worker"), config.device));
  FollowReporter reporter;
  return FollowRun({.run = args.run,
                    .name = args.name,
                    .folder = folder,
                    .kind = StreamKind(config, domain->spec()),
                    .config = config,
                    .generator = *generator,
                    .load = labelling.load,
                    .wrote = [&](const std::string& file,
                                 const FollowProgress& now) { reporter.Wrote(file, now); }},
                   manifest, stop, progress);
}

// Throws InputError if `run` is no folder, or if the run has a config but no stream, because
// nothing will ever be published there. A run that is being set up has an empty config.
void CheckStreams(const std::string& run) {
  const std::filesystem::path file = std::filesystem::path(run) / kConfigFile;
  std::error_code error;
  if (std::filesystem::exists(run, error) && !std::filesystem::is_directory(run, error)) {
    throw InputError(
        fmt::format("--follow {}: this is not a folder; expected the folder of a run", run));
  }
  if (!std::filesystem::exists(file, error) || std::filesystem::is_empty(file, error)) return;
  const Config config = ParseConfig(ReadFile(file), file.string());
  if (config.streams()) return;
  throw InputError(fmt::format(
      "--follow {}: the run has `data.source: {}`, so it takes no rows of other processes. Train "
      "with --set data.source=stream.",
      run, ValueText(config, "data.source")));
}

}  // namespace

int Follow(FollowArgs args) {
  if (args.name.empty()) args.name = DefaultName();
  if (!IsGeneratorName(args.name)) {
    throw InputError(fmt::format(
        "--name {}: expected 1 to 60 letters, digits, dots, dashes and underscores", args.name));
  }
  args.run = std::filesystem::absolute(args.run).lexically_normal().string();
  const StopOnSignals signals(ClosedPipe::kStops);
  FollowProgress progress;
  bool has_appeared = false;
  try {
    for (bool follows = true; follows;) {
      const StreamManifest manifest = AwaitManifest(args.run, signals.stop(), [&] {
        CheckStreams(args.run);
        LogInfo(fmt::format("waiting for {}, which `tandem train` with data.source: stream writes",
                            ManifestOf(args.run).string()));
      });
      has_appeared = true;
      if (manifest.ended) break;
      const Config config = ConfigToFollow(args, manifest);
      try {
        OpenTorchLibrary().with_labelling_network(config, [&](const Labelling& labelling) {
          follows = FollowWith(args, manifest, labelling, signals.stop(), progress) ==
                    FollowEnd::kConfigChanged;
          return kDone;
        });
      } catch (const InputError&) {
        // The run may have published newer weights, and removed these before they were read.
        if (ReadManifest(args.run) == manifest) throw;
      }
    }
  } catch (const Stopped&) {
    if (!has_appeared) {
      LogWarning(fmt::format("stopped; {} never appeared, so nothing was generated",
                             ManifestOf(args.run).string()));
      return kSignalBase + signals.caught();
    }
    LogInfo(FollowReporter::Describe(progress));
    LogWarning("stopped; the run goes on without this generator");
    return kSignalBase + signals.caught();
  }
  LogInfo(fmt::format("the run has ended; {}", FollowReporter::Describe(progress)));
  return kDone;
}

}  // namespace tandem
