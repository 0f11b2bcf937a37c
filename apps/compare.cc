// tandem compare CONFIG
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/child_process.h"
#include "apps/commands.h"
#include "apps/run_folder.h"
#include "apps/signals.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "compare/comparison.h"
#include "compare/figure.h"
#include "compare/variants.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr int kTailLines = 5;  // lines shown from the log of a failed run

struct Plan {
  std::string config;
  std::vector<std::string> seeds;
  std::vector<Variant> variants;
  std::vector<Override> common;  ///< for every run
  std::vector<std::string> plugins;
  fs::path folder;
};

std::vector<Override> OverridesOf(const Plan& plan, const Variant& variant,
                                  const std::string& seed) {
  std::vector<Override> all = plan.common;
  for (const Override& override : variant.Overrides()) all.push_back(override);
  all.push_back({"seed", seed, "--seeds " + seed});
  return all;
}

// If async runs too and the config does not set the policy lag, gives sequential the lag of async.
// They then do the same work, and equal weights prove it.
void AlignPolicyLags(Plan& plan) {
  const auto is = [](const char* mode) {
    return [mode](const Variant& variant) { return variant.mode == mode; };
  };
  if (std::ranges::none_of(plan.variants, is("async"))) return;
  for (Variant& variant : plan.variants) {
    const std::vector<Override> overrides = OverridesOf(plan, variant, plan.seeds.front());
    if (variant.mode == "sequential" && !LoadConfig(plan.config, overrides).pipeline.policy_lag) {
      variant.aligned_lag = true;
    }
  }
}

void CheckUpdatesAreGiven(const CompareArgs& args) {
  if (LoadConfig(args.config, args.overrides).train.max_updates) return;
  throw InputError(
      fmt::format("{}: `train.max_updates` is auto, expected a number, because every run must do "
                  "the same work. "
                  "Add --set train.max_updates=N.",
                  args.config));
}

// Checks the config of every run before the first one starts.
void CheckAll(const Plan& plan) {
  for (const Variant& variant : plan.variants) {
    for (const std::string& seed : plan.seeds) {
      LoadConfig(plan.config, OverridesOf(plan, variant, seed));
    }
  }
}

// Checks that the results can be written, before hours of runs.
void CheckCanHold(const std::string& json_file) {
  if (json_file.empty()) return;
  const fs::path folder = fs::absolute(json_file).parent_path();
  if (fs::is_directory(folder) && !fs::is_directory(json_file)) return;
  throw InputError(fmt::format("--json {}: expected a file name in an existing folder", json_file));
}

Plan MakePlan(const CompareArgs& args) {
  CheckUpdatesAreGiven(args);
  Plan plan{
      .config = args.config,
      .seeds = SplitList(args.seeds, "--seeds"),
      .common = args.overrides,
      .plugins = args.plugins,
      .folder = args.out.empty() ? NewRunFolder("compare-", args.config) : fs::path(args.out)};
  // Each run must do all its updates.
  plan.common.push_back({"train.max_seconds", "0", "tandem compare"});
  std::vector<Variation> variations;
  for (const std::string& text : args.vary) variations.push_back(ParseVariation(text));
  plan.variants = MakeVariants(SplitList(args.modes, "--modes"), variations);
  AlignPolicyLags(plan);
  CheckAll(plan);
  CheckCanHold(args.json);
  return plan;
}

std::string Tail(const fs::path& log) {
  std::istringstream lines(ReadFile(log));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  std::string tail;
  const std::size_t first = all.size() > kTailLines ? all.size() - kTailLines : 0;
  for (std::size_t i = first; i < all.size(); ++i) tail += "\n  " + all[i];
  return tail;
}

RunRecord RunOne(const Plan& plan, const Variant& variant, const std::string& seed,
                 const StopSignal& stop) {
  const std::string name = fmt::format("{}-seed{}", variant.FolderName(), seed);
  const fs::path run = plan.folder / name;
  const fs::path log = plan.folder / (name + ".log");
  std::vector<std::string> arguments = {"train", plan.config, "--out", run.string()};
  for (const std::string& file : plan.plugins) {
    arguments.insert(arguments.end(), {"--plugin", file});
  }
  for (const Override& override : OverridesOf(plan, variant, seed)) {
    arguments.insert(arguments.end(), {"--set", override.key + "=" + override.value});
  }
  const int code = RunSelf(arguments, log, stop);
  if (stop.Reached()) throw Stopped();
  if (code != kDone) {
    throw Error(fmt::format("the run {} failed with exit code {}. The end of {}:{}", name, code,
                            log.string(), Tail(log)));
  }
  return ReadRun(run);
}

// Runs all variants of one seed before the next seed, so that other load on the machine affects all
// variants alike. Each seed starts with a different variant.
std::vector<VariantRuns> RunAll(const Plan& plan, const StopSignal& stop) {
  std::vector<VariantRuns> all;
  for (const Variant& variant : plan.variants) all.push_back({.variant = variant, .runs = {}});
  std::size_t done = 0;
  for (std::size_t s = 0; s < plan.seeds.size(); ++s) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      VariantRuns& each = all[(s + i) % all.size()];
      const Stopwatch watch;
      each.runs.push_back(RunOne(plan, each.variant, plan.seeds[s], stop));
      LogInfo(fmt::format("[{}/{}] {}, seed {}: {}", ++done, plan.seeds.size() * all.size(),
                          each.variant.name, plan.seeds[s], HumanSeconds(watch.Seconds())));
    }
  }
  return all;
}

// Returns a warning if the learning rate decreases up to the last update. Solve rates after equal
// seconds then favour the run that finishes its updates first.
std::string CautionAboutSchedule(const Plan& plan, std::span<const Row> rows) {
  const bool shown = std::ranges::any_of(
      rows, [](const Row& row) { return row.solve_rate_equal_time.has_value(); });
  const std::vector<Override> overrides =
      OverridesOf(plan, plan.variants.front(), plan.seeds.front());
  const Schedule schedule = LoadConfig(plan.config, overrides).optimizer.schedule;
  const bool falls = schedule == Schedule::kLinear || schedule == Schedule::kCosine;
  if (!shown || !falls) return "";
  return "the learning rate decreases up to the last update, so solve rates after equal seconds "
         "favour the run that ends first; --set optimizer.schedule=constant makes them fair";
}

std::string JsonOf(const Plan& plan, std::span<const VariantRuns> runs, std::span<const Row> rows) {
  const std::vector<std::string> verdicts = Verdicts(rows, plan.seeds.size());
  const nlohmann::ordered_json json = {
      {"schema", 2},          {"config", plan.config},
      {"seeds", plan.seeds},  {"cores", runs.front().runs.front().cores},
      {"rows", ToJson(rows)}, {"verdicts", verdicts}};
  return DumpJson(json, 2) + "\n";
}

void Report(const Plan& plan, const std::vector<VariantRuns>& runs, const std::string& json_file) {
  const std::vector<Row> rows = Compare(runs);
  fmt::print("{}\n", TableText(rows));
  for (const std::string& verdict : Verdicts(rows, plan.seeds.size())) fmt::print("{}\n", verdict);
  const std::string caution = CautionAboutSchedule(plan, rows);
  if (!caution.empty()) fmt::print("{}\n", caution);
  const std::string json = JsonOf(plan, runs, rows);
  WriteFileAtomically(plan.folder / "compare.json", json);
  const fs::path figure = plan.folder / "compare.svg";
  WriteFileAtomically(
      figure, Figure(runs, fmt::format("{}, {} seeds", fs::path(plan.config).filename().string(),
                                       plan.seeds.size())));
  fmt::print("{} and the figure {}\n", (plan.folder / "compare.json").string(), figure.string());
  if (!json_file.empty()) WriteFileAtomically(json_file, json);
}

}  // namespace

int RunCompare(const CompareArgs& args) {
  const Plan plan = MakePlan(args);
  MakeEmptyFolder(plan.folder);
  const StopOnSignals signals;
  try {
    Report(plan, RunAll(plan, signals.stop()), args.json);
  } catch (const Stopped&) {
    LogWarning(fmt::format("stopped; the runs so far are in {}", plan.folder.string()));
    return kSignalBase + signals.caught();
  }
  return kDone;
}

}  // namespace tandem
