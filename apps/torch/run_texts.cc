#include "apps/torch/run_texts.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <system_error>

#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/training_phases.h"
#include "data/run_files.h"
#include "data/shard_set.h"
#include "data/stream_manifest.h"
#include "tandem/registry.h"
#include "train/bottleneck.h"
#include "train/memory_plan.h"
#include "train/rank_times.h"
#include "train/report.h"
#include "train/run_profile.h"

namespace tandem {
namespace {

// Describes the layers of a network before its output layer. Programs may add kinds of networks;
// only the name of such a kind is known.
std::string DescribeNetwork(const NetworkConfig& network) {
  const bool has_stem = network.stem_width > 0;
  const std::string widths = has_stem ? fmt::format("{}-{}", network.stem_width, network.width)
                                      : std::to_string(network.width);
  const std::string blocks = Counted(network.blocks, "residual block");
  if (network.kind == kResNetFc) return fmt::format("{}, {}", widths, blocks);
  if (network.kind == kResNet2d) {
    return fmt::format("{}, {}, and a layer of {}", Counted(network.channels, "channel"), blocks,
                       network.width);
  }
  if (network.kind == kMlp) {
    const std::int64_t layers = (has_stem ? 2 : 1) + network.blocks;
    return fmt::format("{}, {}", widths, Counted(layers, "hidden layer"));
  }
  return fmt::format("kind {}", network.kind);
}

// Warns if the labels of the shards are not those that the config asks for, or if rows generated
// during the run would differ from the rows of the shards.
void WarnOfDifferences(const ShardSetSpec& set, const Config& c) {
  const bool mixed = c.live_part_of(c.train.batch_size) > 0;
  const std::string target = ValueText(c, "generate.target");
  if (set.target != target) {
    LogWarning(fmt::format(
        "the shards were labelled with target {}, but generate.target is {}{}", set.target, target,
        mixed ? "; the labels of a batch will differ in meaning" : ", which is not used"));
  }
  for (const auto& [key, value] : set.provenance) {
    if (!mixed || !key.starts_with("generate.")) continue;
    const std::string own = FindValueText(c, key).value_or("unknown");  // another version's key
    if (own == value) continue;
    LogWarning(
        fmt::format("{} is {} for the shards and {} for the rows that are generated during the run",
                    key, value, own));
  }
}

std::string DescribeShards(const Config& c, const ShardSetSpec& set) {
  const std::int64_t live = c.live_part_of(c.train.batch_size);
  const auto rows = static_cast<double>(c.rows_of(0) - c.live_rows_of(0));
  return fmt::format(
      "{}: {} examples, target {}; an update takes {:.3g} epochs of them{}", c.data.path,
      WithThousands(set.examples), set.target, rows / static_cast<double>(set.examples),
      live > 0 ? fmt::format("; {} rows of each batch are generated during the run", live) : "");
}

void AdviseToResume(const std::filesystem::path& out) {
  LogInfo(fmt::format("next: tandem train --resume {}", ShellWord(out.string())));
}

const char* DescribeEnd(RunEnd end) {
  switch (end) {
    case RunEnd::kAllUpdates:
      return "all updates done";
    case RunEnd::kTimeLimit:
      return "the time limit was reached";
    case RunEnd::kStopped:
      return "stopped on request";
  }
  return "";
}

}  // namespace

void Announce(const Config& c, const std::string& device, const std::filesystem::path& out) {
  const auto value = [&](std::string_view key) { return ValueText(c, key); };
  const MemoryPlan plan = PlanMemory(c);
  const bool searches = c.generate.searches();
  LogInfo(fmt::format("{}: {} targets{}, {}", MakeDomain(c.domain.full_name())->spec().name,
                      value("generate.target"),
                      searches ? fmt::format(" by {} search", value("generate.search")) : "",
                      value("pipeline.mode")));
  if (LabelsWhenTraining(c.pipeline.mode)) {
    LogInfo("  repeats   not bit for bit: in sync_main the weights depend on timing");
  }
  if (c.streams()) {
    LogInfo("  repeats   not bit for bit: with a stream, timing decides which rows are there");
  }
  LogInfo(fmt::format(
      "  network   {} of {}, {}: {} parameters", TraitsOf(c.network.head).network,
      DescribeNetwork(c.network),
      c.network.norm == Norm::kNone ? "not normalised" : value("network.norm") + " normalisation",
      WithThousands(plan.parameters)));
  LogInfo(fmt::format("  device    {}: training {} {}, generating {}", device,
                      Counted(*c.train.threads, "thread"), value("train.precision"),
                      Counted(*c.generate.workers, "worker")));
  LogInfo(fmt::format("  updates   {}{} of {} batches of {} rows",
                      c.train.follows_clock ? "about " : "", *c.train.max_updates,
                      c.train.iterations_per_update, c.train.batch_size));
  LogInfo(fmt::format("  memory    {}", DescribeMemory(plan)));
  if (c.data.source == DataSource::kShards) {
    const ShardSetSpec set = ReadShardSetSpec(c.data.path);
    LogInfo("  data      " + DescribeShards(c, set));
    WarnOfDifferences(set, c);
    WarnOfStrays(c.data.path, set.num_shards());
  }
  if (c.streams()) {
    const std::int64_t live = c.live_part_of(c.train.batch_size);
    LogInfo(fmt::format(
        "  data      from `tandem generate --follow {}`, through {}; {}", ShellWord(out.string()),
        StreamPathOf(out, c).string(),
        live > 0 ? fmt::format("{} rows of each batch are generated by this process", live)
                 : "training waits until the rows of a batch are there"));
  }
  if (HasGrowingTargets(c)) {
    LogInfo(
        "  loss      rises when targets grow, even while the network improves; judge by the share "
        "solved");
  }
  for (std::int64_t phase = 1; phase <= std::ssize(c.phases); ++phase) {
    LogInfo(fmt::format(
        "  phase {}   from {}update {}: {}", phase, c.train.follows_clock ? "about " : "",
        FirstUpdateOfPhase(c, phase, *c.train.max_updates), DescribePhase(c, phase)));
  }
  LogInfo(fmt::format("  folder    {}", out.string()));
}

void Report(const RunSummary& summary, const Config& config, const std::filesystem::path& out) {
  const double rate = static_cast<double>(summary.examples) / summary.wall_s;
  const std::string loss =
      summary.iterations > 0
          ? fmt::format(", loss {:.4f}{}", summary.final_loss,
                        HasGrowingTargets(config) ? " against growing targets" : "")
          : "";
  LogInfo(fmt::format("{}: {}, {} examples in {} ({} examples/s){}, peak memory {}",
                      DescribeEnd(summary.end), Counted(summary.updates, "update"),
                      WithThousands(summary.examples), HumanSeconds(summary.wall_s),
                      WithThousands(static_cast<long long>(rate)), loss,
                      HumanBytes(static_cast<double>(summary.peak_rss_bytes))));
  if (summary.iterations == 0 && summary.end == RunEnd::kTimeLimit) {
    LogInfo(
        fmt::format("nothing was trained: the time limit came before the first iteration; raise "
                    "train.max_seconds (now {})",
                    config.train.max_seconds));
    return;
  }
  for (const std::string& line : DescribeTimes(summary.time.threads)) LogInfo("  " + line);
  LogInfo("  " + DescribeCores(summary.time, NumCores()));
  if (summary.ranks) LogInfo("  " + DescribeRanks(*summary.ranks));
  if (summary.data) {
    for (const std::string& line : DescribeShardReport(*summary.data, config.device)) {
      LogInfo("  " + line);
    }
  }
  if (summary.stream) {
    for (const std::string& line : DescribeStream(*summary.stream, summary.time.wall_s)) {
      LogInfo("  " + line);
    }
  }
  LogInfo(summary.bottleneck);
  if (const FillStats& fill = summary.last_fill; fill.longest_scramble && fill.searches_solved) {
    LogInfo(fmt::format(
        "curriculum: scrambles have up to {} of {} actions; the searches of the last update solve "
        "{:.0f} %",
        *fill.longest_scramble, config.generate.max_scramble, 100 * *fill.searches_solved));
  }
  if (summary.validation) {
    LogInfo(fmt::format("validation: {} {:.1f} % of {}{}; best after update {}",
                        WhatSolves(config.validation), 100 * summary.validation->solve_rate,
                        config.validation.file.empty() ? "fixed scrambles" : config.validation.file,
                        DescribeValueError(summary.validation->value_error, config),
                        summary.best_update));
  }
  if (summary.end == RunEnd::kStopped) {
    AdviseToResume(out);
  } else {
    LogInfo(fmt::format("next: tandem solve --model {} --states FILE", ShellWord(out.string())));
  }
  LogInfo(summary.learning);
}

void ReportFailure(const std::filesystem::path& out) {
  std::error_code ignored;
  if (std::filesystem::exists(out / kCheckpointFile, ignored)) AdviseToResume(out);
}

}  // namespace tandem
