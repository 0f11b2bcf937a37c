#include "apps/generation.h"

#include <fmt/format.h>

#include <charconv>

#include "apps/signals.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "domain/plugin.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr double kReportInterval = 10;  // seconds

// Parses "0/4", which means the first of four processes.
Share ParseShare(const std::string& text) {
  Share share;
  const char* end = text.data() + text.size();
  const auto [slash, bad_index] = std::from_chars(text.data(), end, share.index);
  const bool split = bad_index == std::errc() && slash != end && *slash == '/';
  const auto [last, bad_count] =
      split ? std::from_chars(slash + 1, end, share.count) : std::from_chars_result{end, {}};
  if (!split || bad_count != std::errc() || last != end || share.index < 0 || share.count < 1 ||
      share.index >= share.count) {
    throw InputError(fmt::format(
        "--share {}: expected I/N, which means process I of N, counted from 0, such as 0/4", text));
  }
  return share;
}

Compression ParseCompression(const std::string& text) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    if (text == NameOf(compression)) return compression;
  }
  throw InputError(fmt::format("--compression {}: expected none or zstd", text));
}

ShardingOptions OptionsOf(const GenerateArgs& args) {
  ShardingOptions options = args.sharding;
  if (options.chunk_rows > INT32_MAX) {
    throw InputError(fmt::format("--chunk-rows {}: expected at most {}", options.chunk_rows,
                                 WithThousands(INT32_MAX)));
  }
  options.compression = ParseCompression(args.compression);
  return options;
}

// Row r of walk_length is the state after (r mod max_scramble) + 1 actions of its walk.
void CheckWholeWalk(const GenerateArgs& args, const Config& config) {
  const std::int64_t length = config.generate.max_scramble;
  if (config.generate.target != Target::kWalkLength || args.sharding.examples >= length) return;
  throw InputError(
      fmt::format("--examples {}: no walk would reach the length of generate.max_scramble, {}. "
                  "Expected at least "
                  "that many examples. Lower generate.max_scramble, or ask for more examples.",
                  args.sharding.examples, length));
}

void Announce(const ShardSetSpec& set, const Share& share, const GenerateArgs& args) {
  const auto size = [](std::int64_t bytes) { return HumanBytes(static_cast<double>(bytes)); };
  const auto chunk = static_cast<std::int64_t>(set.BytesOfChunk(0));
  LogInfo(fmt::format("{}: {} examples of {} in {}, {} before compression ({})", args.out,
                      WithThousands(set.examples), set.domain, Counted(set.num_shards(), "shard"),
                      size(set.examples * static_cast<std::int64_t>(set.schema.row_bytes())),
                      NameOf(set.compression)));
  LogInfo(fmt::format("  columns   {}; target {}", DescribeSchema(set.schema), set.target));
  LogInfo(fmt::format("  memory    {} for two chunks of {} rows", size(2 * chunk),
                      WithThousands(set.chunk_rows)));
  if (share.count > 1) {
    LogInfo(fmt::format("  share     process {} of {}, counted from 0", share.index, share.count));
  }
}

// Logs the progress every few seconds, and the totals at the end.
class Reporter {
 public:
  void Report(const GenerateProgress& progress) {
    last_ = progress;
    if (since_reported_.Seconds() < kReportInterval) return;
    since_reported_ = Stopwatch();
    LogInfo(fmt::format("{:3.0f} %  {} examples/s",
                        100 * static_cast<double>(progress.rows_found + progress.rows_made) /
                            static_cast<double>(progress.rows),
                        WithThousands(Rate())));
  }

  void Finish() const {
    if (last_.rows_made == 0) {
      LogInfo("all shards already exist");
      return;
    }
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

}  // namespace

int GenerateWith(const GenerateArgs& args, const Config& config, const Domain& domain,
                 Evaluator* network, const std::string& weights_sha256,
                 const std::string& instruction_set) {
  CheckPluginDomain(domain);
  CheckWholeWalk(args, config);
  const ShardSetSpec set =
      SpecOfSet(config, domain.spec(), OptionsOf(args), weights_sha256, instruction_set);
  const Share share = ParseShare(args.share);
  Config labelled = config;
  labelled.pipeline.mode = Mode::kAsync;  // in sync_main the rows would stay unlabelled
  const auto generator = MakeGenerator(domain, labelled, network);
  Announce(set, share, args);
  const StopOnSignals signals(ClosedPipe::kStops);
  Reporter reporter;
  try {
    GenerateShards(*generator, set, args.out, share, signals.stop(),
                   [&](const GenerateProgress& progress) { reporter.Report(progress); });
  } catch (const Stopped&) {
    LogWarning("stopped; run the same command again to write the remaining shards");
    return kSignalBase + signals.caught();
  }
  reporter.Finish();
  LogInfo(fmt::format("next: tandem shards {}", args.out));
  return kDone;
}

}  // namespace tandem
