// tandem compare CONFIG
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "compare/comparison.h"
#include "compare/figure.h"
#include "compare/runs.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr auto kPollInterval = std::chrono::milliseconds(20);

// A pipe that exec closes. If the child cannot start the program, it writes the error number into
// the pipe; end of file means that the program started.
class ErrorPipe {
 public:
  ErrorPipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw Error(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    }
  }
  ~ErrorPipe() {
    ::close(ends_[0]);
    CloseWriteEnd();
  }
  ErrorPipe(const ErrorPipe&) = delete;
  ErrorPipe& operator=(const ErrorPipe&) = delete;

  // Async-signal-safe.
  [[noreturn]] void ReportAndExit(int error) const {
    [[maybe_unused]] const ssize_t written = ::write(ends_[1], &error, sizeof error);
    _exit(kCannotStart);
  }

  // Waits until the child has started its program or failed. Returns 0 or the error.
  int Read() {
    CloseWriteEnd();
    int error = 0;
    while (::read(ends_[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    return error;
  }

 private:
  static constexpr int kCannotStart = 127;

  void CloseWriteEnd() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

  std::array<int, 2> ends_{};
};

// Runs in the child. Only async-signal-safe calls are allowed there, because other threads of the
// parent may have held locks at the fork.
[[noreturn]] void ExecProgram(char* const* argv, const char* log, pid_t parent,
                              const ErrorPipe& errors) {
  // Ctrl-C at a terminal then reaches only the parent, which asks the child to end.
  ::setpgid(0, 0);
  // If the parent dies, even by SIGKILL, the child saves its work and ends too.
  if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) errors.ReportAndExit(errno);
  if (::getppid() != parent) errors.ReportAndExit(ESRCH);  // the parent died before prctl
  const int input = ::open("/dev/null", O_RDONLY);
  const int output = ::open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (input < 0 || output < 0 || ::dup2(input, STDIN_FILENO) < 0 ||
      ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0) {
    errors.ReportAndExit(errno);
  }
  ::execv("/proc/self/exe", argv);
  errors.ReportAndExit(errno);
}

pid_t Spawn(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  std::vector<char*> argv;
  std::string name = "tandem";
  argv.push_back(name.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ErrorPipe errors;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) ExecProgram(argv.data(), log.c_str(), parent, errors);
  const int error = pid < 0 ? errno : errors.Read();
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    throw Error(
        fmt::format("cannot start a run that logs to {}: {}", log.string(), std::strerror(error)));
  }
  return pid;
}

// Runs this program with `arguments` in a child process, with its output in the file `log`, and
// waits for it. If `stop` is reached, sends the child SIGTERM and waits for it to end. If the
// calling thread ends first, the system sends the child SIGTERM. Returns the child's exit code, or
// 128 + N if signal N ended it. Throws Error if the child cannot be started.
int RunSelf(const std::vector<std::string>& arguments, const std::filesystem::path& log,
            const StopSignal& stop) {
  const pid_t pid = Spawn(arguments, log);
  int status = 0;
  bool asked_to_end = false;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) {
      throw Error(fmt::format("cannot wait for a run: {}", std::strerror(errno)));
    }
    if (!asked_to_end && stop.Reached()) {
      ::kill(pid, SIGTERM);
      asked_to_end = true;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

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
  std::vector<std::string> plugins;  // to load in each run, which is a process of its own
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

// Checks before the runs, which may take hours, that the results can be written.
void CheckIsWritable(const std::string& json_file) {
  if (json_file.empty()) return;
  const fs::path folder = fs::absolute(json_file).parent_path();
  if (fs::is_directory(folder) && !fs::is_directory(json_file)) return;
  throw InputError(fmt::format("--json {}: expected a file name in an existing folder", json_file));
}

Plan MakePlan(const CompareArgs& args, const std::vector<std::string>& plugins) {
  CheckUpdatesAreGiven(args);
  Plan plan{
      .config = args.config,
      .plugins = plugins,
      .seeds = SplitList(args.seeds, "--seeds"),
      .common = args.overrides,
      .folder = args.out.empty() ? NewRunFolder("compare-", args.config) : fs::path(args.out)};
  // Each run must do all its updates.
  plan.common.push_back({"train.max_seconds", "0", "tandem compare"});
  // The table has a row for the product rate.
  plan.common.push_back({"profile.product_rate", "true", "tandem compare"});
  std::vector<Variation> variations;
  for (const std::string& text : args.vary) variations.push_back(ParseVariation(text));
  plan.variants = MakeVariants(SplitList(args.modes, "--modes"), variations);
  AlignPolicyLags(plan);
  CheckAll(plan);
  CheckIsWritable(args.json);
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
std::string ScheduleWarning(const Plan& plan, std::span<const Row> rows) {
  const bool shown = std::ranges::any_of(
      rows, [](const Row& row) { return row.solve_rate_equal_time.has_value(); });
  const std::vector<Override> overrides =
      OverridesOf(plan, plan.variants.front(), plan.seeds.front());
  const Schedule schedule = LoadConfig(plan.config, overrides).optimizer.schedule;
  if (!shown || !DependsOnLength(schedule)) return "";
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
  const std::string caution = ScheduleWarning(plan, rows);
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

int RunCompare(const CompareArgs& args, const std::vector<std::string>& plugins) {
  const Plan plan = MakePlan(args, plugins);
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

}  // namespace

void AddCompare(CommandLine& line) {
  const auto args = std::make_shared<CompareArgs>();
  CLI::App& compare = AddCommand(
      line, "compare", "Run a config in several modes and report differences beyond chance",
      [args, &line] { return RunCompare(*args, line.plugins); });
  compare.add_option("config", args->config, "YAML config, such as configs/compare.yaml")
      ->required()
      ->type_name("CONFIG");
  compare.add_option("--modes", args->modes, "Modes to run; the first is the baseline")
      ->type_name("MODE,...")
      ->capture_default_str();
  compare.add_option("--seeds", args->seeds, "Seeds; every mode runs once with each")
      ->type_name("N,...")
      ->capture_default_str();
  compare
      .add_option("--vary", args->vary, "Also run each of these values of a key; may be repeated")
      ->type_name("KEY=V1,V2")
      ->allow_extra_args(false);
  compare.add_option("--json", args->json, "Also write the results to FILE")->type_name("FILE");
  compare
      .add_option("--out", args->out,
                  "New or empty folder for all runs (default: runs/compare-...)")
      ->type_name("DIR");
  AddSetOption(compare, args->overrides);
  AddKeyOption(compare, args->overrides, "device", "device", "auto, cpu, cuda or cuda:N");
  compare.footer(
      "Every run does the same updates; train.max_seconds is ignored. Each number is the median\n"
      "over the seeds, with the minimum and the maximum, and leaves out the cold start. Each\n"
      "difference comes with the probability that chance alone makes it as large (an exact\n"
      "permutation test that pairs the runs of each seed). A verdict takes at least five seeds.\n\n"
      "Solve rates after equal seconds are taken when the first run of a seed ends, interpolated\n"
      "between the validations before and after that moment.\n\n"
      "The ideal speed-up is over sequential, if all waiting were filled with work. The busiest\n"
      "side of a run is the generator, the main thread, the cores or the GPU. The product rate is "
      "a\n"
      "share of the rate of large matrix products, measured at the end of each run.\n\n"
      "  tandem compare configs/compare.yaml --seeds 1,2,3\n"
      "  tandem compare configs/compare.yaml --modes async --vary prefetch.depth=1,2,4\n\n"
      "The folder receives the runs, compare.json and compare.svg.");
}

}  // namespace tandem
