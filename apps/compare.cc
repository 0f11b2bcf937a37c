// tandem compare CONFIG
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/load.h"
#include "domain/registry.h"
#include "report/comparison.h"
#include "report/run_record.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

struct CompareArgs {
  std::string config;
  std::string modes = "sequential,async";
  std::string seeds = "1";
  std::vector<std::string> vary;  // each "KEY=V1,V2"
  std::string json;               // extra file for the results; "": none
  std::string out;                // "": a new folder under runs/
  std::vector<Override> overrides;
};

constexpr int kTailLines = 5;  // lines shown from the log of a failed run

// The runs of the comparison: each variant with each seed.
struct Plan {
  std::string config;
  std::vector<std::string> seeds;
  std::vector<Variant> variants;
  std::vector<Override> common;  // for every run
  fs::path folder;
};

std::vector<Override> OverridesOf(const Plan& plan, const Variant& variant,
                                  const std::string& seed) {
  std::vector<Override> all = plan.common;
  for (const Override& override : variant.Overrides()) all.push_back(override);
  all.push_back({"seed", seed, "--seeds " + seed});
  return all;
}

// Returns the config of the first run of a variant.
Config ConfigOf(const Plan& plan, const Variant& variant) {
  return LoadConfig(plan.config, OverridesOf(plan, variant, plan.seeds.front()));
}

// If async runs too and the config does not set the policy lag, gives sequential the lag of async.
// They then do the same work, and equal weights prove it.
void AlignPolicyLags(Plan& plan) {
  if (std::ranges::find(plan.variants, "async", &Variant::mode) == plan.variants.end()) return;
  for (Variant& variant : plan.variants) {
    variant.aligned_lag =
        variant.mode == "sequential" && !ConfigOf(plan, variant).pipeline.policy_lag;
  }
}

void CheckUpdatesAreGiven(const CompareArgs& args) {
  RequireNoPipe(args.config);  // it is read for each run
  if (LoadConfig(args.config, args.overrides).train.max_updates) return;
  throw InputError(
      fmt::format("{}: `train.max_updates` is auto, expected a number, because every run must do "
                  "the same work. Add --set train.max_updates=N.",
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

Plan MakePlan(const CompareArgs& args) {
  CheckUpdatesAreGiven(args);
  Plan plan{
      .config = args.config,
      .seeds = ParseSeeds(args.seeds),
      .common = args.overrides,
      .folder = args.out.empty() ? NewRunFolder("compare-", args.config) : fs::path(args.out)};
  // Each run must do all its updates.
  plan.common.push_back({"train.max_seconds", "0", "tandem compare"});
  std::vector<Variation> variations;
  for (const std::string& text : args.vary) variations.push_back(ParseVariation(text));
  plan.variants = MakeVariants(SplitList(args.modes, "--modes"), variations);
  AlignPolicyLags(plan);
  CheckAll(plan);
  std::vector<NamedFile> inputs = FilesOf(LoadConfig(args.config, args.overrides));
  inputs.push_back({"the config", args.config});
  CheckOutputs({{"--out", plan.folder / "compare.json"},
                {"--out", plan.folder / "compare.svg"},
                {"--json", args.json}},
               inputs);
  if (!args.json.empty()) CheckCanWrite(args.json);  // the runs may take hours
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

constexpr auto kPollInterval = std::chrono::milliseconds(20);

// Turns this process, a child of `parent`, into the program. Returns the error if that fails. Only
// async-signal-safe calls are allowed here, because other threads of the parent may hold locks.
int ExecProgram(char* const* arguments, const char* log, pid_t parent) {
  // Ctrl-C at a terminal then reaches only the parent, which asks the child to end.
  ::setpgid(0, 0);
  // If the parent dies, even by SIGKILL, the child saves its work and ends too.
  if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return errno;
  if (::getppid() != parent) return ESRCH;  // the parent died before prctl
  const int input = ::open("/dev/null", O_RDONLY);
  const int output = ::open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (input >= 0 && output >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
      ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0) {
    ::execve("/proc/self/exe", arguments, environ);
  }
  return errno;
}

// Starts this program with other arguments. Its output goes to `log`.
pid_t Spawn(std::vector<std::string> arguments, const fs::path& log) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  (void)std::signal(SIGCHLD, SIG_DFL);  // if inherited as ignored, exit codes would be lost
  // Until the child has become the program, it uses this memory and this process waits, so that
  // `error` says whether it did.
  volatile int error = 0;
  const pid_t pid = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (pid == 0) {
    error = ExecProgram(pointers.data(), log.c_str(), parent);
    ::_exit(1);
  }
  if (pid < 0) error = errno;
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    throw Error(fmt::format("cannot start a process that logs to {}: {}", log.string(),
                            std::strerror(error)));
  }
  return pid;
}

// Waits until the process has ended. If `stop` is reached, asks it to end, which saves its work.
// Returns the exit code, or 128 + N if signal N ended the process.
int AwaitEnd(pid_t pid, const StopSignal& stop) {
  bool asked_to_end = false;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(pid, &status, WNOHANG)) == 0) {
    if (!asked_to_end && stop.Reached()) {
      ::kill(pid, SIGTERM);
      asked_to_end = true;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  if (ended != pid) throw Error(fmt::format("cannot wait for the run: {}", std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

RunRecord RunOne(const Plan& plan, const Variant& variant, const std::string& seed,
                 const StopSignal& stop) {
  const std::string name = fmt::format("{}-seed{}", variant.FolderName(), seed);
  const fs::path folder = plan.folder / name;
  const fs::path log = plan.folder / (name + ".log");
  std::vector<std::string> arguments = {"tandem", "train", plan.config, "--out", folder.string()};
  for (const fs::path& file : LoadedPlugins()) {
    arguments.insert(arguments.end(), {"--plugin", file.string()});
  }
  for (const Override& override : OverridesOf(plan, variant, seed)) {
    arguments.insert(arguments.end(), {"--set", override.key + "=" + override.value});
  }
  const int code = AwaitEnd(Spawn(std::move(arguments), log), stop);
  if (stop.Reached()) throw Stopped();
  if (code != kDone) {
    throw Error(fmt::format("the run {} failed with exit code {}. The end of {}:{}", name, code,
                            log.string(), Tail(log)));
  }
  return ReadRun(folder);
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

// Returns a warning if several variants are compared and the learning rate decreases up to the last
// update. Solve rates after equal seconds then favour the run that finishes its updates first.
std::string ScheduleWarning(const Plan& plan, std::span<const Row> rows) {
  const bool shown = std::ranges::any_of(
      rows, [](const Row& row) { return row.solve_rate_equal_time.spread.has_value(); });
  const Schedule schedule = ConfigOf(plan, plan.variants.front()).optimizer.schedule;
  if (rows.size() < 2 || !shown || !DependsOnLength(schedule)) return "";
  return "the learning rate decreases up to the last update, so solve rates after equal seconds "
         "favour the run that ends first; --set optimizer.schedule=constant makes them fair";
}

// Losses measure different things if the variants have other targets or losses, or if the targets
// are backups of estimates, which grow with the network.
bool LossesCompare(const Plan& plan) {
  std::set<std::string> kinds;
  for (const Variant& variant : plan.variants) {
    const Config config = ConfigOf(plan, variant);
    if (config.labels_with_network() && BacksUpEstimates(config.generate.target)) return false;
    kinds.insert(ValueText(config, "generate.target") + " " + ValueText(config, "network.head"));
  }
  return kinds.size() == 1;
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
  for (const std::string& note : Notes(rows, LossesCompare(plan))) fmt::print("{}\n", note);
  for (const std::string& verdict : Verdicts(rows, plan.seeds.size())) fmt::print("{}\n", verdict);
  const std::string caution = ScheduleWarning(plan, rows);
  if (!caution.empty()) fmt::print("{}\n", caution);
  const std::string json = JsonOf(plan, runs, rows);
  WriteFileAtomically(plan.folder / "compare.json", json);
  const fs::path figure = plan.folder / "compare.svg";
  WriteFileAtomically(figure,
                      Figure(runs, fmt::format("{}, {}", fs::path(plan.config).filename().string(),
                                               Counted(std::ssize(plan.seeds), "seed"))));
  fmt::print("{} and the figure {}\n", (plan.folder / "compare.json").string(), figure.string());
  if (!json_file.empty()) WriteOutput(json_file, json);
}

int RunCompare(const CompareArgs& args) {
  const Plan plan = MakePlan(args);
  MakeEmptyFolder(plan.folder);
  // If torchrun has started this process, the runs are not its ranks.
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
  const StopOnSignals signals;
  try {
    Report(plan, RunAll(plan, signals.stop()), args.json);
  } catch (const Stopped&) {
    LogWarning(fmt::format("stopped; the runs so far are in {}", plan.folder.string()));
    return kSignalBase + signals.caught();
  }
  return kDone;
}

}  // namespace

void AddCompare(CommandLine& line) {
  const auto [compare, args] =
      AddCommand(line, "compare",
                 "Run a config in several modes and report differences beyond chance", RunCompare);
  AddConfigOption(compare, args.config)->required();
  AddOption(compare, "--modes", args.modes, "MODE,...", "Modes to run; the first is the baseline")
      ->capture_default_str();
  AddOption(compare, "--seeds", args.seeds, "N,...", "Seeds; every mode runs once with each")
      ->capture_default_str();
  AddOption(compare, "--vary", args.vary, "KEY=V1,V2",
            "Also run each of these values of a key; may be repeated")
      ->allow_extra_args(false);
  AddOption(compare, "--json", args.json, "FILE", "Also write the results to FILE");
  AddOption(compare, "--out", args.out, "DIR",
            "New or empty folder for all runs (default: runs/compare-...)");
  AddSetOption(compare, args.overrides);
  AddKeyOption(compare, args.overrides, "device", "device", "auto, cpu, cuda or cuda:N");
  compare.footer(
      "Every run does the same updates; train.max_seconds is ignored. Each number is the median\n"
      "over the seeds, with the minimum and the maximum, and leaves out the cold start. Each\n"
      "difference comes with the probability that chance alone makes it as large (an exact\n"
      "permutation test that pairs the runs of each seed). A verdict takes at least five seeds;\n"
      "with six, chance can be less likely than 5 %.\n\n"
      "Solve rates after equal seconds are taken when the first run of a seed ends, interpolated\n"
      "between the validations before and after that moment.\n\n"
      "The ideal speed-up is over sequential, if all waiting were filled with work. The busiest\n"
      "side of a run is the generator, the main thread, the cores or the GPU.\n\n"
      "  tandem compare configs/compare.yaml --seeds 1,2,3,4,5,6\n"
      "  tandem compare configs/compare.yaml --modes async --vary prefetch.depth=1,2,4\n\n"
      "The folder receives the runs, compare.json and compare.svg.");
}

}  // namespace tandem
