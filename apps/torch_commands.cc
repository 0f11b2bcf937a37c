// tandem train CONFIG, tandem solve --model RUN_DIR and tandem evaluate RUN_DIR: the options.
// torch/ does the work.
#include <fmt/format.h>

#include "apps/command_line.h"
#include "config/choices.h"
#include "tandem/error.h"

namespace tandem {
namespace {

int CheckAndTrain(const TrainArgs& args) {
  const bool resume = !args.resume.empty();
  if (resume && (!args.config.empty() || !args.out.empty())) {
    throw InputError(
        "--resume RUN_DIR uses the config and the folder of that run; remove CONFIG and --out");
  }
  if (!resume && args.config.empty()) {
    throw InputError("expected a config, such as configs/quickstart.yaml, or --resume RUN_DIR");
  }
  return OpenTorchLibrary().run_train(args);
}

int CheckAndSolve(const SolveArgs& args) {
  if (args.states.empty() == args.scramble.empty()) {
    throw InputError(fmt::format("solve: expected --states FILE or --scramble MOVES, found {}",
                                 args.states.empty() ? "neither" : "both"));
  }
  return OpenTorchLibrary().run_solve(args);
}

// Returns a line for each search method, with its name and its meaning.
std::string ListSearches() {
  std::string list;
  for (const Choice<SearchMethod>& each : kSearchMethods) {
    list += fmt::format("  {:<20} {}\n", each.name, each.meaning);
  }
  return list;
}

}  // namespace

void AddTrain(CommandLine& line) {
  const auto [train, args] =
      AddCommand(line, "train", "Train a network from a YAML config", CheckAndTrain);
  AddConfigOption(train, args.config);
  AddOption(train, "--out", args.out, "DIR",
            "New or empty folder for the run (default: runs/CONFIG-TIME)");
  AddOption(train, "--resume", args.resume, "RUN_DIR", "Continue a run that was stopped or killed");
  AddSetOption(train, args.overrides);
  AddKeyOption(train, args.overrides, "mode", "pipeline.mode", NamesIn(kModes));
  AddKeyOption(train, args.overrides, "device", "device", "auto, cpu, cuda or cuda:N");
  AddKeyOption(train, args.overrides, "seed", "seed", "Seed of every random number");
  train.footer(
      "Workers generate examples into one buffer while the network trains on the other.\n"
      "Ctrl-C ends the run and saves the state of its last whole update. --resume continues it;\n"
      "on a CPU it ends with the same weights as a run that was never stopped.\n\n"
      "  tandem train configs/quickstart.yaml\n"
      "  tandem train configs/quickstart.yaml --set train.batch_size=1000 --seed 7\n"
      "  tandem train --resume runs/my-run\n\n"
      "The folder receives config.yaml (every key, with `auto` replaced), metrics.jsonl (a line\n"
      "per update), checkpoint.safetensors (for `tandem solve`, and for the package safetensors),\n"
      "best.safetensors (the best validated weights) and summary.json.\n" +
      std::string(kExitCodes));
}

void AddSolve(CommandLine& line) {
  const auto [solve, args] =
      AddCommand(line, "solve", "Solve puzzles with a trained network", CheckAndSolve);
  AddModelOptions(solve, args.model).required();
  AddStatesOptions(solve, args.states, args.limit);
  AddOption(solve, "--scramble", args.scramble, "MOVES",
            "Solve the state after these moves from the goal");
  AddSearchOptions(solve, args.model.overrides);
  AddOption(solve, "--out", args.out, "FILE", "Write results to FILE, one JSON object per line");
  solve.footer(
      "Every solution is replayed from its state to check that it reaches the goal.\n\n"
      "Searches:\n" +
      ListSearches() +
      "Beam search is the default. A wider beam takes longer and finds shorter solutions.\n"
      "anytime_beam never exceeds --beam-width, and keeps the cheapest solution.\n"
      "A* first expands the states with the least\n"
      "    weight * (cost so far) + (estimate of the remaining cost).\n"
      "A greater weight takes longer and finds shorter solutions; from weight 1 on they are the\n"
      "shortest if the network's estimates are never too high. search.max_seconds,\n"
      "search.max_nodes and search.max_gib limit all searches. If no solution is found, the\n"
      "result has the best state that the search evaluated.\n\n"
      "With --ball N, every state whose cost-to-go is at most N counts as a goal, so searches end\n"
      "earlier. --at-most N drops states that cannot lead to a solution of cost N or less.\n\n"
      "  tandem solve --model runs/my-run --states data/cube3_ten.jsonl\n"
      "  tandem solve --model runs/my-run --scramble \"R U2 F' D\"\n"
      "  tandem solve --model runs/my-run --states my.txt --beam-width 16384\n"
      "  tandem solve --model runs/my-run --states my.txt --search astar --weight 0.8\n"
      "  tandem solve --model runs/my-run --states my.txt --ball 5\n\n"
      "Without --out the JSON lines go to standard output, unless that is a terminal.\n"
      "Exit codes: 0 all states solved; 1 some not solved, or failed; 2 wrong usage, or a line is\n"
      "not a valid state; 130, 143 or 129 stopped by a signal; 141 stopped because the\n"
      "reader of its output has gone.");
}

void AddEvaluate(CommandLine& line) {
  const auto [evaluate, args] = AddCommand(
      line, "evaluate", "Measure how well the networks of a run solve given states",
      +[](const EvaluateArgs& args) { return OpenTorchLibrary().run_evaluate(args); });
  AddOption(evaluate, "run", args.run, "RUN_DIR", "Folder of a run of `tandem train`")->required();
  AddStatesOptions(evaluate, args.states, args.limit)->required();
  AddOption(evaluate, "--checkpoints", args.checkpoints, "WHICH,...",
            "Networks to evaluate: all (kept, last and best), or any of last, best (by "
            "validation) and checkpoint files")
      ->capture_default_str();
  evaluate.add_flag("--untrained", args.untrained,
                    "Also evaluate the network before the first update, as a baseline");
  AddOption(evaluate, "--json", args.json, "FILE", "Also write the results to FILE");
  AddSearchOptions(evaluate, args.overrides);
  AddSetOption(evaluate, args.overrides, "Set a key of the run's config; may be repeated");
  evaluate.footer(
      "If several networks are evaluated, the last line names the one that solves best: the most\n"
      "states; if equal, with the shortest solutions; if equal, with the fewest nodes. The loss\n"
      "does not identify it. Choose with at least 100 states.\n\n"
      "A run keeps networks for --checkpoints all if checkpoint.keep_every is above 0.\n\n"
      "  tandem evaluate runs/my-run --states data/cube3_ten.jsonl --limit 2 --untrained\n"
      "  tandem evaluate runs/my-run --states my.jsonl --checkpoints all --beam-width 512\n\n"
      "Exit codes: 0 evaluated, whether or not all states were solved; 1 failed; 2 wrong usage or\n"
      "input; 130, 143 or 129 stopped by a signal; 141 stopped because the reader of its output\n"
      "has gone. A stopped evaluation prints the results so far and writes no file.");
}

}  // namespace tandem
