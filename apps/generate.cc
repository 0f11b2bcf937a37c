// tandem generate CONFIG --examples N --out DIR, and tandem generate --follow RUN.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "apps/torch_library.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/load.h"
#include "data/run_files.h"
#include "data/stream_folder.h"
#include "domain/registry.h"
#include "generate/generator.h"
#include "generate/shard_jobs.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::int64_t kMostProcesses = std::int64_t{1} << 20;

struct GenerateArgs {
  std::string config;
  std::string out;
  ProcessRank process;
  ShardingOptions sharding;
  std::vector<Override> overrides;
  std::string follow;  // run to generate rows for; "": write a set of shards
  std::string name;    // of this generator; "": made of the names of the machine and the process
};

// Returns a name for a generator that its user gave none.
std::string DefaultName() {
  std::string name = fmt::format("{:.39}-{}", HostName(), ::getpid());
  std::erase_if(name, [](char c) { return !IsGeneratorName({&c, 1}); });
  return name;
}

// Returns the config of the run that published `manifest`, for this machine.
Config ConfigToFollow(const GenerateArgs& args, const StreamManifest& manifest) {
  const std::string file = ManifestOf(args.follow).string();
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
  config.network.init_from = PublishedWeights(args.follow, manifest.version).string();
  config.generate.program = Program::kDomain;
  return config;
}

std::string Describe(const FollowProgress& progress) {
  const double rate =
      progress.generate_s > 0 ? static_cast<double>(progress.rows) / progress.generate_s : 0.0;
  const std::string version =
      progress.shards > 0 ? fmt::format("; weights of update {}", progress.version) : "";
  return fmt::format("{} examples in {} ({} examples/s while generating), paused {}{}",
                     WithThousands(progress.rows), Counted(progress.shards, "shard"),
                     WithThousands(static_cast<long long>(rate)), HumanSeconds(progress.paused_s),
                     version);
}

// Follows the run until it ends or gets another config.
FollowEnd FollowWith(const GenerateArgs& args, const StreamManifest& manifest,
                     const Labelling& labelling, const StopSignal& stop, FollowProgress& progress) {
  const Config& config = labelling.config;
  const auto domain = MakeDomain(config.domain.full_name());
  CheckPluginDomain(*domain);
  const auto generator = MakeGenerator(*domain, config, labelling.network);
  const StreamFolder folder(StreamPathOf(args.follow, config));
  LogInfo(fmt::format("{} generates for {}: {} rows per shard into {}, {} on {}", args.name,
                      args.follow, WithThousands(config.data.stream_rows), folder.path().string(),
                      Counted(*config.generate.workers, "worker"), config.device));
  Stopwatch since_reported;
  return FollowRun({.run = args.follow,
                    .name = args.name,
                    .folder = folder,
                    .kind = StreamKind(config, domain->spec()),
                    .config = config,
                    .generator = *generator,
                    .load = labelling.load,
                    .wrote =
                        [&](const std::string& file, const FollowProgress& now) {
                          std::printf("%s\n", file.c_str());
                          std::fflush(stdout);
                          if (since_reported.Seconds() < kReportInterval) return;
                          since_reported = Stopwatch();
                          LogInfo(Describe(now));
                        }},
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

// Generates rows for a run with `data.source: stream` until it ends. Returns the exit code.
int Follow(GenerateArgs args) {
  if (args.name.empty()) args.name = DefaultName();
  if (!IsGeneratorName(args.name)) {
    throw InputError(fmt::format(
        "--name {}: expected 1 to 60 letters, digits, dots, dashes and underscores", args.name));
  }
  args.follow = std::filesystem::absolute(args.follow).lexically_normal().string();
  const StopOnSignals signals(ClosedPipe::kStops);
  FollowProgress progress;
  bool has_appeared = false;
  try {
    for (bool follows = true; follows;) {
      const StreamManifest manifest = AwaitManifest(args.follow, signals.stop(), [&] {
        CheckStreams(args.follow);
        LogInfo(fmt::format("waiting for {}, which `tandem train` with data.source: stream writes",
                            ManifestOf(args.follow).string()));
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
        if (ReadManifest(args.follow) == manifest) throw;
      }
    }
  } catch (const Stopped&) {
    if (!has_appeared) {
      LogWarning(fmt::format("stopped; {} never appeared, so nothing was generated",
                             ManifestOf(args.follow).string()));
      return kSignalBase + signals.caught();
    }
    LogInfo(Describe(progress));
    LogWarning("stopped; the run goes on without this generator");
    return kSignalBase + signals.caught();
  }
  LogInfo(fmt::format("the run has ended; {}", Describe(progress)));
  return kDone;
}

Compression CompressionOption(const std::string& text) {
  if (const auto compression = ParseCompression(text)) return *compression;
  throw InputError(fmt::format("--compression {}: expected none or zstd", text));
}

void CheckWholeSequence(const GenerateArgs& args, const Config& config) {
  const RowSequence sequence = config.generate.sequence();
  if (args.sharding.examples >= sequence.rows) return;
  throw InputError(fmt::format(
      "--examples {}: expected at least the {} examples of a {}. Lower {}, or ask for more "
      "examples.",
      args.sharding.examples, sequence.rows, sequence.noun, sequence.key));
}

void Announce(const ShardSetSpec& set, const GenerateArgs& args) {
  const auto size = [](std::int64_t bytes) { return HumanBytes(static_cast<double>(bytes)); };
  const auto chunk = static_cast<std::int64_t>(set.BytesOfChunk(0));
  LogInfo(fmt::format("{}: {} examples of {} in {}, {} before compression ({})", args.out,
                      WithThousands(set.examples), set.domain, Counted(set.num_shards(), "shard"),
                      size(set.examples * static_cast<std::int64_t>(set.schema.row_bytes())),
                      NameOf(set.compression)));
  LogInfo(fmt::format("  columns   {}; target {}", DescribeSchema(set.schema), set.target));
  LogInfo(fmt::format("  memory    {} for two chunks of {} rows", size(2 * chunk),
                      WithThousands(set.chunk_rows)));
  if (args.process.world_size > 1) {
    LogInfo(fmt::format("  process   rank {} of {}", args.process.rank, args.process.world_size));
  }
}

// Logs the progress every few seconds, and the totals at the end.
class Reporter {
 public:
  void Report(const GenerateProgress& progress) {
    last_ = progress;
    if (progress.rows == 0 || since_reported_.Seconds() < kReportInterval) return;
    since_reported_ = Stopwatch();
    LogInfo(fmt::format("{:3.0f} %  {} examples/s",
                        100 * static_cast<double>(progress.rows_found + progress.rows_made) /
                            static_cast<double>(progress.rows),
                        WithThousands(Rate())));
  }

  void Finish() const {
    if (last_.rows == 0) return LogInfo("no shard of the set belongs to this process");
    if (last_.rows_made == 0) return LogInfo("all shards already exist");
    LogInfo(fmt::format("{} examples in {} ({} examples/s), {} on disk, peak memory {}{}",
                        WithThousands(last_.rows_made), HumanSeconds(watch_.Seconds()),
                        WithThousands(Rate()), HumanBytes(static_cast<double>(last_.bytes)),
                        HumanBytes(static_cast<double>(PeakRssBytes())),
                        last_.rows_found > 0
                            ? fmt::format("; {} already existed", WithThousands(last_.rows_found))
                            : ""));
  }

 private:
  long long Rate() const {
    return static_cast<long long>(static_cast<double>(last_.rows_made) / watch_.Seconds());
  }

  GenerateProgress last_;
  Stopwatch watch_, since_reported_;
};

// Writes the shards and returns the exit code.
int WriteShards(const GenerateArgs& args, const Labelling& labelling) {
  if (IsFolderOfRun(args.out)) {
    throw InputError(fmt::format(
        "--out {}: this is the folder of a run; expected another folder for the shards", args.out));
  }
  const Config& config = labelling.config;
  const auto domain = MakeDomain(config.domain.full_name());
  CheckPluginDomain(*domain);
  CheckWholeSequence(args, config);
  Config labelled = config;
  labelled.pipeline.mode = Mode::kAsync;  // in sync_main the rows would stay unlabelled
  const ShardSetSpec set = SpecOfSet(labelled, domain->spec(), args.sharding,
                                     labelling.weights_sha256, labelling.instruction_set);
  const auto generator = MakeGenerator(*domain, labelled, labelling.network);
  Announce(set, args);
  const StopOnSignals signals(ClosedPipe::kStops);
  Reporter reporter;
  try {
    GenerateShards(*generator, set, args.out, args.process, signals.stop(),
                   [&](const GenerateProgress& progress) { reporter.Report(progress); });
  } catch (const Stopped&) {
    LogWarning("stopped; run the same command again to write the remaining shards");
    return kSignalBase + signals.caught();
  }
  reporter.Finish();
  LogNextCommand(fmt::format("shards {}", ShellWord(args.out)));
  return kDone;
}

int RunGenerate(const GenerateArgs& args) {
  if (args.process.rank >= args.process.world_size) {
    throw InputError(fmt::format("--rank {}: expected less than --world-size, {}",
                                 args.process.rank, args.process.world_size));
  }
  Config config = LoadConfig(args.config, args.overrides, PathsOf::kShards);
  config.generate.program = Program::kDomain;
  if (config.generate.curriculum) {
    throw InputError(fmt::format(
        "{}: `generate.curriculum: true` makes scrambles longer from update to update, and a set "
        "of examples has no updates. Add --set generate.curriculum=false.",
        args.config));
  }
  if (!NeedsNetwork(config.generate.target)) {
    config.generate.workers = config.generate.workers.value_or(std::min(NumCores(), kMostThreads));
    return WriteShards(args, {.config = config});
  }
  if (config.network.init_from.empty()) {
    throw InputError(fmt::format(
        "{}: `generate.target: {}` needs a network, so `network.init_from` must name a run or a "
        "checkpoint. Add --set network.init_from=RUN_DIR.",
        args.config, ValueText(config, "generate.target")));
  }
  return OpenTorchLibrary().with_labelling_network(
      config, [&](const Labelling& labelling) { return WriteShards(args, labelling); });
}

// The config and the folder of a set of shards, or with --follow the run that gets the rows.
// Returns --follow.
CLI::Option* AddSourceOptions(CLI::App& generate, GenerateArgs& args) {
  CLI::Option* config = AddConfigOption(generate, args.config)->required();
  CLI::Option* examples = AddOption(generate, "--examples", args.sharding.examples, "N",
                                    "Number of examples in the whole set")
                              ->required()
                              ->check(WholeNumber(1, kMaxExamples));
  CLI::Option* out = AddOption(generate, "--out", args.out, "DIR",
                               "Folder for the shards; complete shards in it are kept")
                         ->required();
  return generate
      .add_option_function<std::string>(
          "--follow",
          [&args, config, examples, out](const std::string& run) {
            args.follow = run;
            for (CLI::Option* of_set : {config, examples, out}) of_set->required(false);
          },
          "Generate examples for a run with data.source: stream, until it ends")
      ->type_name("RUN")
      ->excludes(config)
      ->excludes(examples)
      ->excludes(out);
}

// Options of a generator that follows a run.
void AddFollowerOptions(CLI::App& generate, GenerateArgs& args, CLI::Option* follow) {
  AddOption(generate, "--name", args.name, "NAME",
            "Name of this generator in the run's metrics (default: machine and process)")
      ->needs(follow);
  generate
      .add_option_function<std::int64_t>(
          "--workers",
          [&args](std::int64_t workers) {
            for (const char* key : {"generate.workers", "inference.threads", "train.threads"}) {
              args.overrides.push_back({key, std::to_string(workers), "--workers"});
            }
          },
          "Number of threads of this generator (default: one per core)")
      ->type_name("N")
      ->check(WholeNumber(1, 1024))
      ->needs(follow);
}

// Options of the processes that write a set together. A generator with --follow writes no set.
void AddProcessOptions(CLI::App& generate, ProcessRank& process, CLI::Option* follow) {
  CLI::Option* world_size = AddOption(generate, "--world-size", process.world_size, "N",
                                      "Number of processes that write the set together")
                                ->check(WholeNumber(1, kMostProcesses))
                                ->capture_default_str()
                                ->excludes(follow);
  AddOption(generate, "--rank", process.rank, "R",
            "Write only the shards of this process; counted from 0")
      ->check(WholeNumber(0, kMostProcesses - 1))
      ->needs(world_size)
      ->capture_default_str()
      ->excludes(follow);
}

// Options of the files of a set. A generator with --follow writes the files that the run asks for.
void AddShardingOptions(CLI::App& generate, ShardingOptions& sharding, CLI::Option* follow) {
  generate
      .add_option_function<std::string>(
          "--compression",
          [&sharding](const std::string& text) { sharding.compression = CompressionOption(text); },
          "none or zstd (default: none)")
      ->type_name("HOW")
      ->excludes(follow);
  AddOption(generate, "--chunk-rows", sharding.chunk_rows, "N",
            "Rows per chunk, the unit of reading")
      ->check(WholeNumber(1, kMaxChunkRows))
      ->capture_default_str()
      ->excludes(follow);
  AddOption(generate, "--shard-chunks", sharding.chunks_per_shard, "N", "Chunks per file")
      ->check(WholeNumber(1, kMaxShardChunks))
      ->capture_default_str()
      ->excludes(follow);
}

}  // namespace

void AddGenerate(CommandLine& line) {
  const auto [generate, args] = AddCommand(
      line, "generate", "Write training examples to disk", +[](const GenerateArgs& args) {
        return args.follow.empty() ? RunGenerate(args) : Follow(args);
      });
  CLI::Option* const follow = AddSourceOptions(generate, args);
  AddFollowerOptions(generate, args, follow);
  AddProcessOptions(generate, args.process, follow);
  AddShardingOptions(generate, args.sharding, follow);
  AddSetOption(generate, args.overrides);
  AddKeyOption(generate, args.overrides, "seed", "seed", "Seed of every random number");
  generate.footer(
      "Rows depend only on the config and their number. The files are the same however often the\n"
      "command is stopped and started again, and however many processes share the work. Targets\n"
      "that are labelled by a network need one: set network.init_from.\n\n"
      "  tandem generate configs/quickstart.yaml --examples 1000000 --out shards/cube3\n"
      "  tandem train configs/quickstart.yaml --set data.source=shards --set "
      "data.path=shards/cube3\n\n"
      "With --follow, the config and the network are those that a run publishes. The name of each\n"
      "shard goes to standard output.\n\n"
      "  tandem generate --follow runs/cube3\n"
      "\n" +
      std::string(kExitCodes));
}

}  // namespace tandem
