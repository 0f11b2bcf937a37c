// tandem train CONFIG
#include <fmt/format.h>

#include <ctime>
#include <filesystem>

#include "apps/commands.h"
#include "apps/plain_errors.h"
#include "apps/progress.h"
#include "apps/signals.h"
#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "run/calibrate.h"
#include "run/resolve.h"
#include "run/train_run.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

fs::path OutFolder(const TrainArgs& args) {
  if (!args.out.empty()) return args.out;
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char time_text[32];
  std::strftime(time_text, sizeof time_text, "%Y%m%d-%H%M%S", &local);
  return fs::path("runs") / fmt::format("{}-{}", fs::path(args.config).stem().string(), time_text);
}

std::string DescribeNetwork(const NetworkConfig& network) {
  std::string widths = std::to_string(network.width);
  if (network.stem_width > 0) widths = fmt::format("{}-{}", network.stem_width, widths);
  return fmt::format("{}, {} residual blocks", widths, network.blocks);
}

void Announce(const TrainRun& run, const fs::path& out) {
  const TrainConfig& c = run.config();
  const auto value = [&](std::string_view key) { return ValueText(c, key); };
  LogInfo(fmt::format("{}: {} targets, {}", c.domain.full_name(), value("generate.target"),
                      value("pipeline.mode")));
  LogInfo(fmt::format(
      "  network   {}, {}: {} parameters", DescribeNetwork(c.network),
      c.network.norm == Norm::kNone ? "not normalised" : value("network.norm") + " normalisation",
      WithThousands(run.num_parameters())));
  LogInfo(fmt::format("  device    {}: training {} threads {}, generating {} workers",
                      run.device_description(), *c.train.threads, value("train.precision"),
                      *c.generate.workers));
  LogInfo(fmt::format("  updates   {} of {} batches of {} rows; two buffers, {} together",
                      *c.train.max_updates, c.train.iterations_per_update, c.train.batch_size,
                      HumanBytes(static_cast<double>(run.buffer_bytes()))));
  LogInfo(fmt::format("  folder    {}", out.string()));
}

void Report(const RunSummary& summary, const fs::path& out) {
  constexpr const char* kEnds[] = {"all updates done", "the time limit was reached",
                                   "stopped on request"};
  const double rate = static_cast<double>(summary.examples) / summary.wall_s;
  LogInfo(
      fmt::format("{}: {} updates, {} examples in {} ({} examples/s), loss {:.4f}, peak memory {}",
                  kEnds[static_cast<int>(summary.end)], WithThousands(summary.updates),
                  WithThousands(summary.examples), HumanSeconds(summary.wall_s),
                  WithThousands(static_cast<long long>(rate)), summary.final_loss,
                  HumanBytes(static_cast<double>(summary.peak_rss_bytes))));
  if (summary.iterations > 0) {
    LogInfo(fmt::format("next: tandem solve --model {} --states FILE", out.string()));
  }
}

// The whole of a run in a folder that is claimed for it.
int TrainIn(const RunDirectory& directory, const TrainConfig& asked,
            const std::shared_ptr<Device>& device, const StopOnSignals& signals,
            const Stopwatch& began) {
  TrainConfig config = ResolveAutos(asked, *device);
  if (!config.train.max_updates) {
    LogInfo(fmt::format("measuring how many updates fit into {}",
                        HumanSeconds(config.train.max_seconds)));
  }
  config = ResolveMaxUpdates(config, device, began, signals.stop());

  TrainRun run(config, device, directory, signals.stop(), began);
  Announce(run, directory.path());
  ProgressDisplay progress;
  run.AddObserver(progress);
  while (run.RunUpdate()) {
  }
  progress.Close();
  const RunSummary summary = run.Finish();
  Report(summary, directory.path());
  return summary.end == RunEnd::kStopped ? kSignalBase + signals.caught() : kDone;
}

int Train(const TrainArgs& args) {
  const Stopwatch began;
  const TrainConfig asked = LoadConfig(args.config, args.overrides);
  const std::shared_ptr<Device> device = OpenDevice(asked.device);
  const RunDirectory directory = RunDirectory::Create(OutFolder(args));
  const StopOnSignals signals;
  try {
    return TrainIn(directory, asked, device, signals, began);
  } catch (const Stopped&) {
    directory.Abandon();
    LogWarning("stopped before training began");
    return kSignalBase + signals.caught();
  } catch (...) {
    directory.Abandon();  // which leaves a run that has begun alone
    throw;
  }
}

}  // namespace
}  // namespace tandem

extern "C" int tandem::tandem_run_train(const TrainArgs& args) {
  return WithPlainErrors([&] { return Train(args); });
}
