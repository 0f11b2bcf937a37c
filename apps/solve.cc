// tandem solve --model RUN_DIR --states FILE: the options. torch/solve.cc solves.
#include <fmt/format.h>

#include <memory>

#include "apps/command_line.h"
#include "tandem/error.h"

namespace tandem {

void AddSolve(CommandLine& line) {
  const auto args = std::make_shared<SolveArgs>();
  CLI::App& solve = AddCommand(line, "solve", "Solve puzzles with a trained network", [args] {
    if (args->states.empty() == args->scramble.empty()) {
      throw InputError(fmt::format("solve: expected --states FILE or --scramble MOVES, found {}",
                                   args->states.empty() ? "neither" : "both"));
    }
    return OpenTorchLibrary().run_solve(*args);
  });
  AddModelOptions(solve, args->model).required();
  AddStatesOptions(solve, args->states, args->limit);
  solve.get_option("--states")->required(false);
  solve.add_option("--scramble", args->scramble, "Solve the state after these moves from the goal")
      ->type_name("MOVES");
  AddSearchOptions(solve, args->model.overrides);
  solve.add_option("--out", args->out, "Write results to FILE, one JSON object per line")
      ->type_name("FILE");
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
      "result has the best state that the search reached.\n\n"
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

}  // namespace tandem
