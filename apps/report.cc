// tandem report RUN: one HTML page that shows a run.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/json.h"
#include "base/log.h"
#include "base/stop_signal.h"
#include "base/text.h"
#include "config/fields.h"
#include "config/load.h"
#include "data/run_files.h"
#include "report/evaluation.h"
#include "report/report_page.h"
#include "report/run_record.h"
#include "search/greedy_search.h"
#include "search/problems.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "tandem/picture.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

struct ReportArgs {
  EvaluateArgs evaluate;    // `states` is empty unless --states is given
  std::string out;          // "": report.html in the run's folder
  bool no_puzzle = false;   // do not solve a puzzle
  std::int64_t random = 0;  // steps of the scramble; 0: generate.max_scramble
  std::uint64_t seed = 1;   // of the scramble
};

// Returns "Training waits." for "training waits".
std::string Sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

// FolderFiles holds what the files of a run's folder say.
struct FolderFiles {
  fs::path folder;
  Config config;
  RunRecord updates;
  nlohmann::json summary;  // null if the run has not finished
};

FolderFiles ReadFiles(const std::string& run) {
  const fs::path folder = run;
  CheckHasFilesOfRun(folder, {kConfigFile, kMetricsFile});
  FolderFiles files{.folder = folder,
                    .config = LoadConfig(folder / kConfigFile),
                    .updates = ReadUpdates(folder / kMetricsFile),
                    .summary = nullptr};
  const fs::path summary = folder / kSummaryFile;
  if (fs::exists(summary)) files.summary = ReadSummary(summary);
  return files;
}

// Returns the sentence under `key` of the summary; "" if it has none.
std::string SentenceOf(const FolderFiles& files, const char* key) {
  const auto found = files.summary.find(key);
  const bool is_text = found != files.summary.end() && found->is_string();
  return is_text ? Sentence(found->get<std::string>()) : "";
}

std::vector<std::pair<std::string, std::string>> FactsOf(const FolderFiles& files) {
  const std::vector<UpdatePoint>& curve = files.updates.curve;
  const UpdatePoint& last = curve.back();
  std::vector<std::pair<std::string, std::string>> facts = {
      {"puzzle", files.config.domain.full_name()},
      {"target", ValueText(files.config, "generate.target")},
      {"mode", ValueText(files.config, "pipeline.mode")},
      {"updates", WithThousands(last.update + 1)},
      {"examples", WithThousands(last.examples)},
      {"time", HumanSeconds(last.seconds)},
      {"final loss", fmt::format("{:.4g}", last.loss)}};
  const auto validated = std::find_if(curve.rbegin(), curve.rend(), [](const UpdatePoint& point) {
    return point.solve_rate.has_value();
  });
  if (validated != curve.rend()) {
    facts.emplace_back("validation solved", fmt::format("{:.1f} %", 100 * *validated->solve_rate));
  }
  if (const auto found = files.summary.find("parameters");
      found != files.summary.end() && found->is_number_integer()) {
    facts.emplace_back("parameters", WithThousands(found->get<long long>()));
  }
  return facts;
}

// Fills in what the evaluation in the run's folder, if there is one, says. Returns its networks
// that have a place in the run's training.
std::vector<EvaluatedNetwork> AddEvaluation(const FolderFiles& files, ReportPage& page) {
  const fs::path file = files.folder / "evaluation.json";
  if (!fs::exists(file)) {
    page.values = {ErrorChart(files.updates)};
    page.values_note = fmt::format(
        "From the last validation. With --states FILE, whose lines have `optimal`, the report "
        "compares estimates with known lengths; it keeps the results in {}.",
        file.string());
    if (!page.values.front().has_points()) page.values_note = "Not measured. " + page.values_note;
    if (files.config.generate.target == Target::kSelfPlay) {
      page.values_note = "A game has no lengths; `tandem evaluate` measures its moves.";
    }
    return {};
  }
  EvaluationFile evaluation = ReadEvaluation(file);
  if (evaluation.networks.empty()) return {};
  const EvaluatedNetwork& shown = evaluation.networks[evaluation.best.value_or(0)];
  page.values_note = fmt::format("{} of {}, network {}, search {}; from {}.",
                                 Counted(shown.figures.states, "state"), evaluation.states,
                                 shown.name, evaluation.search, file.string());
  if (shown.figures.known) {
    page.values = ValueCharts(*shown.figures.known);
  } else if (!shown.figures.is_game) {
    page.values_note += " No state has `optimal`, so the lengths are not known.";
  }
  std::erase_if(evaluation.networks, [](const EvaluatedNetwork& n) { return !n.trained_s; });
  return std::move(evaluation.networks);
}

void AddOverlap(const FolderFiles& files, ReportPage& page) {
  constexpr std::size_t kUpdatesShown = 12;
  page.busy = BusyChart(files.updates);
  page.overlap = OverlapElement(files.updates, kUpdatesShown);
  page.overlap_note = fmt::format(
      "The last updates. To see every thread, train with profile.trace_updates set to 5, and open "
      "{} in Perfetto (ui.perfetto.dev).",
      (files.folder / kTraceFile).string());
}

std::string Caption(const Domain& domain, std::size_t frame, const std::vector<Action>& actions,
                    const Hint& hint) {
  std::string move = frame == 0 ? std::string("Start")
                                : fmt::format("Move {} of {}: {}", frame, actions.size(),
                                              domain.spec().action_names[actions[frame - 1]]);
  if (hint.probability) return move;
  return fmt::format("{}. Estimated cost to the goal: {:.2f}", move, hint.estimate);
}

std::vector<SolvedPuzzle::Frame> FramesOf(const PuzzleModel& model, std::vector<std::uint8_t> state,
                                          const std::vector<Action>& actions) {
  const Domain& domain = model.domain;
  std::vector<SolvedPuzzle::Frame> frames;
  for (std::size_t i = 0; i <= actions.size(); ++i) {
    if (i > 0) domain.Apply(Rows(std::span(state)), {&actions[i - 1], 1});
    frames.push_back(
        {.svg = ToSvg(domain.Draw(state)),
         .caption = Caption(domain, i, actions, HintFor(domain, model.network, state))});
  }
  return frames;
}

// Solves a scramble of about `steps` steps. If that fails, tries shorter ones.
void AddPuzzle(const PuzzleModel& model, std::int64_t steps, std::uint64_t seed,
               const StopSignal& stop, ReportPage& page) {
  constexpr std::uint64_t kAttempts = 6;
  const Domain& domain = model.domain;
  if (AsGame(domain) != nullptr) {
    page.puzzle_note = "A game has no puzzle to solve.";
    return;
  }
  const std::unique_ptr<Search> search = model.make_search();
  for (std::uint64_t attempt = 0; attempt < kAttempts;
       ++attempt, steps = std::max<std::int64_t>(1, steps / 2)) {
    const std::vector<std::uint8_t> state = RandomState(domain, steps, seed, attempt);
    if (IsGoal(domain, state)) continue;
    const SearchResult result = SolveAndReplay(domain, *search, state, stop);
    if (!result.solved) {
      page.puzzle_note = Sentence("not solved: " + search->Failure(result));
      continue;
    }
    page.puzzle = {.description = fmt::format("{}, after {} from a goal, solved in {} ({}).",
                                              domain.spec().name, Counted(steps, "random step"),
                                              Counted(std::ssize(result.actions), "move"),
                                              HumanSeconds(result.seconds)),
                   .frames = FramesOf(model, state, result.actions)};
    return;
  }
}

ReportPage PageOf(const FolderFiles& files) {
  ReportPage page;
  page.title =
      fmt::format("{}: {}", fs::absolute(files.folder / ".").parent_path().filename().string(),
                  files.config.domain.full_name());
  page.facts = FactsOf(files);
  page.finding = SentenceOf(files, "learning");
  page.bottleneck = files.summary.is_null()
                        ? "The run has not finished, so its bottleneck is not known yet."
                        : SentenceOf(files, "bottleneck");
  page.learning = LearningCharts(files.updates.curve, AddEvaluation(files, page));
  AddOverlap(files, page);
  return page;
}

// Checks the options of the search before any work, also if the report needs no search.
void CheckOverrides(const fs::path& config, const std::vector<Override>& overrides) {
  (void)LoadConfig(config, ForThisMachine("the default of solving", overrides));
}

int RunReport(const ReportArgs& args) {
  FolderFiles files = ReadFiles(args.evaluate.run);
  CheckOverrides(files.folder / kConfigFile, args.evaluate.overrides);
  const fs::path out = args.out.empty() ? files.folder / "report.html" : fs::path(args.out);
  const fs::path evaluation = files.folder / "evaluation.json";
  std::vector<NamedFile> inputs = FilesOf(files.config);
  inputs.push_back({"the file of the states", args.evaluate.states});
  inputs.push_back({"the evaluation that the report shows", evaluation});
  CheckOutputs({{"--out", out}}, inputs);
  CheckCanWrite(out);
  if (!args.evaluate.states.empty()) {
    EvaluateArgs evaluate = args.evaluate;
    evaluate.json = evaluation.string();
    if (const int code = OpenTorchLibrary().run_evaluate(evaluate); code != kDone) return code;
  }
  ReportPage page = PageOf(files);
  if (args.no_puzzle) {
    page.puzzle_note = "No puzzle was solved, because of --no-puzzle.";
  } else {
    const StopOnSignals signals;
    try {
      OpenTorchLibrary().with_model(
          {.runs = {args.evaluate.run}, .overrides = args.evaluate.overrides},
          [&](const PuzzleModel& model) {
            AddPuzzle(model, args.random > 0 ? args.random : files.config.generate.max_scramble,
                      args.seed, signals.stop(), page);
            return kDone;
          });
    } catch (const Stopped&) {
      LogWarning("stopped; no report was written");
      return kSignalBase + signals.caught();
    } catch (const Error& error) {  // the rest of the page needs no network
      LogWarning(fmt::format("the report has no solved puzzle: {}", error.what()));
      page.puzzle_note = Sentence(std::string("no puzzle was solved: ") + error.what());
    }
  }
  WriteOutput(out, ReportHtml(page));
  fmt::print("{}\n", out.string());
  return kDone;
}

}  // namespace

void AddReport(CommandLine& line) {
  const auto [report, args] = AddCommand(line, "report", "Show a run as one HTML page", RunReport);
  AddOption(report, "run", args.evaluate.run, "RUN_DIR", "Folder of a run of `tandem train`")
      ->required();
  CLI::Option* const states = AddStatesOptions(report, args.evaluate.states, args.evaluate.limit);
  report.get_option("--limit")->needs(states);
  AddOption(report, "--out", args.out, "FILE", "HTML file to write (default: RUN_DIR/report.html)");
  AddOption(report, "--random", args.random, "STEPS",
            "Random steps of the puzzle to solve (default: generate.max_scramble)")
      ->check(WholeNumber(1, 1'000'000));
  AddSeedOption(report, args.seed);
  report.add_flag("--no-puzzle", args.no_puzzle, "Solve no puzzle, so that LibTorch is not needed");
  AddSearchOptions(report, args.evaluate.overrides);
  AddSetOption(report, args.evaluate.overrides, "Set a key of the run's config; may be repeated");
  report.footer(
      "The page shows the loss and the solve rate, estimates against known lengths, when\n"
      "generation and training overlapped, which side is the bottleneck, and a solution to step\n"
      "through. It is one file that loads nothing, so it can be sent by mail.\n\n"
      "With --states, the run's last network is evaluated as `tandem evaluate` does, and the\n"
      "results are kept in RUN_DIR/evaluation.json. Later reports of the run show that file.\n\n"
      "  tandem report runs/my-run\n"
      "  tandem report runs/my-run --states data/cube3_ten.jsonl --out cube.html\n\n" +
      std::string(kExitCodes));
}

}  // namespace tandem
