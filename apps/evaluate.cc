// tandem evaluate RUN --states FILE: the options. torch/evaluate.cc evaluates.
#include <memory>

#include "apps/command_line.h"

namespace tandem {

void AddEvaluate(CommandLine& line) {
  const auto args = std::make_shared<EvaluateArgs>();
  CLI::App& evaluate =
      AddCommand(line, "evaluate", "Measure how well the networks of a run solve given states",
                 [args] { return OpenTorchLibrary().run_evaluate(*args); });
  evaluate.add_option("run", args->run, "Folder of a run of `tandem train`")
      ->required()
      ->type_name("RUN_DIR");
  AddStatesOptions(evaluate, args->states, args->limit);
  evaluate
      .add_option("--checkpoints", args->checkpoints,
                  "Networks to evaluate: all (kept, last and best), or any of last, best (by "
                  "validation) and checkpoint files")
      ->type_name("WHICH,...")
      ->capture_default_str();
  evaluate.add_flag("--untrained", args->untrained,
                    "Also evaluate the network before the first update, as a baseline");
  evaluate.add_option("--json", args->json, "Also write the results to FILE")->type_name("FILE");
  evaluate
      .add_option("--figure", args->figure,
                  "Draw the learning curve in FILE, as SVG (default with --checkpoints all: "
                  "RUN_DIR/evaluation.svg)")
      ->type_name("FILE");
  evaluate.add_flag("--over-examples", args->over_examples,
                    "Draw the learning curve over training examples instead of seconds");
  AddSearchOptions(evaluate, args->overrides);
  AddSetOption(evaluate, args->overrides, "Set a key of the run's config; may be repeated");
  evaluate.footer(
      "If several networks are evaluated, the last line names the one that solves best: the most\n"
      "states; if equal, with the shortest solutions; if equal, with the fewest nodes. The loss\n"
      "does not identify it. Choose with at least 100 states.\n\n"
      "A run keeps networks for --checkpoints all if checkpoint.keep_every is above 0.\n\n"
      "  tandem evaluate runs/my-run --states data/cube3_ten.jsonl --untrained\n"
      "  tandem evaluate runs/my-run --states my.jsonl --checkpoints all --beam-width 512\n\n"
      "Exit codes: 0 evaluated, whether or not all states were solved; 1 failed; 2 wrong usage or\n"
      "input; 130, 143 or 129 stopped by a signal; 141 stopped because the reader of its output\n"
      "has gone. A stopped evaluation prints the results so far and writes no file.");
}

}  // namespace tandem
