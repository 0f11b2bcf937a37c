#include "apps/options.h"

#include <CLI/CLI.hpp>

#include "apps/option_parts.h"

namespace tandem {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 failed, 2 bad usage or input, 130, 143 or 129 stopped by a signal.";

void AddTrain(CLI::App& app, TrainArgs& args) {
  CLI::App& train = *app.add_subcommand("train", "Train a network from a YAML config");
  train.add_option("config", args.config, "The YAML config, such as configs/quickstart.yaml")
      ->type_name("CONFIG");
  train.add_option("--out", args.out, "Folder for the run: new or empty (runs/CONFIG-TIME)")
      ->type_name("DIR");
  train.add_option("--resume", args.resume, "Go on with a run that was stopped or killed")
      ->type_name("RUN_DIR");
  AddSetOption(train, args.overrides, "Change a key of the config; may be repeated");
  AddKeyOption(train, args.overrides, "mode", "pipeline.mode", "async, sequential or sync_main");
  AddKeyOption(train, args.overrides, "device", "device", "auto, cpu, cuda or cuda:N");
  AddKeyOption(train, args.overrides, "seed", "seed", "Seed of every random number");
  train.footer(
      "Workers generate examples into one buffer while the network trains on the other.\n"
      "Ctrl-C ends the run after the step in hand and keeps what was learned; --resume goes on, "
      "on\n"
      "a CPU to the very weights of a run that was never stopped.\n\n"
      "  tandem train configs/quickstart.yaml\n"
      "  tandem train configs/quickstart.yaml --set train.batch_size=1000 --seed 7\n"
      "  tandem train --resume runs/my-run\n\n"
      "The folder holds config.yaml (every key, resolved), metrics.jsonl (a line per update),\n"
      "checkpoint.pt (for `tandem solve`, and for Python's torch.load), best.pt (the best by\n"
      "validation) and summary.json.\n" +
      std::string(kExitCodes));
}

void AddSolve(CLI::App& app, SolveArgs& args) {
  CLI::App& solve = *app.add_subcommand("solve", "Solve puzzles with a trained network");
  AddModelOptions(solve, args.model).required();
  solve
      .add_option("--states", args.states,
                  "JSON lines with `id`, `state` and, if known, `optimal`; or a state a line")
      ->required()
      ->type_name("FILE");
  solve.add_option("--limit", args.limit, "Solve the first N states only")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  AddKeyOption(solve, args.model.overrides, "search", "search.method", "beam or astar");
  AddKeyOption(solve, args.model.overrides, "beam-width", "search.beam_width",
               "States that beam search keeps at each depth");
  AddKeyOption(solve, args.model.overrides, "weight", "search.weight",
               "Weight of the path's cost in A*; 0: greedy");
  solve.add_option("--out", args.out, "Write results there, a JSON object a line")
      ->type_name("FILE");
  solve.footer(
      "A solution counts once its moves, replayed from the state, reach the goal.\n\n"
      "Beam search is the default: a wider beam takes longer and finds shorter solutions.\n"
      "A* expands the states of least weight * (cost so far) + (estimate of the rest) first: a\n"
      "greater weight takes longer and finds shorter solutions, and with 1 or more they are the\n"
      "shortest, if the network never estimates too much. It remembers every state, up to\n"
      "search.max_nodes. Both heed search.max_seconds. Where there is no solution, the best\n"
      "state met is reported.\n\n"
      "  tandem solve --model runs/my-run --states data/cube3_ten.jsonl\n"
      "  tandem solve --model runs/my-run --states my.txt --beam-width 16384\n"
      "  tandem solve --model runs/my-run --states my.txt --search astar --weight 0.8\n\n"
      "Without --out the JSON lines go to standard output, unless that is a terminal.\n"
      "Exit code 0 means all were solved, 1 that some were not, 2 that some line was no state.");
}

void AddConfig(CLI::App& app, ConfigArgs& args) {
  CLI::App& config =
      *app.add_subcommand("config", "Tell every key of a config, or check one and show it in full");
  config.add_option("config", args.file, "The YAML config to check")->type_name("CONFIG");
  config.add_flag("--reference", args.reference, "Every key: its default, its meaning, its values");
  AddSetOption(config, args.overrides, "Change a key of the config; may be repeated");
  config.footer(
      "What is printed is a config itself, with every key.\n\n"
      "  tandem config --reference > my.yaml\n"
      "  tandem config configs/quickstart.yaml --set train.batch_size=1000\n\n"
      "A mistake is an error that names the line; `auto` stays, as its value depends on the "
      "machine.");
}

void AddCompare(CLI::App& app, CompareArgs& args) {
  CLI::App& compare = *app.add_subcommand(
      "compare", "Run a config in several modes and tell what differs beyond chance");
  compare.add_option("config", args.config, "The YAML config, such as configs/compare.yaml")
      ->required()
      ->type_name("CONFIG");
  compare.add_option("--modes", args.modes, "Modes, the first being the baseline")
      ->type_name("MODE,...")
      ->capture_default_str();
  compare.add_option("--seeds", args.seeds, "Every mode runs once with each")
      ->type_name("N,...")
      ->capture_default_str();
  compare.add_option("--vary", args.vary, "Also run every value of a key; may be repeated")
      ->type_name("KEY=V1,V2")
      ->allow_extra_args(false);
  compare.add_option("--json", args.json, "Write the figures there too")->type_name("FILE");
  compare.add_option("--out", args.out, "Folder for all runs: new or empty (runs/compare-...)")
      ->type_name("DIR");
  AddSetOption(compare, args.overrides, "Change a key of the config; may be repeated");
  AddKeyOption(compare, args.overrides, "device", "device", "auto, cpu, cuda or cuda:N");
  compare.footer(
      "Every run does the same updates; train.max_seconds does not count. Figures leave the cold\n"
      "start out and are the median over the seeds, with the least and the most. Beside each\n"
      "difference stands how often chance alone makes as large a one (an exact permutation test\n"
      "over the pairs of a seed); a verdict takes five seeds.\n\n"
      "Solve rates after equal seconds are those at the moment when the first run of a seed ends,\n"
      "on the line between the validations before and after it.\n\n"
      "The ideal speed-up is over sequential, if every wait were filled. The busiest side is the\n"
      "generator, the main thread, the cores or the GPU, each in its own run. The product rate is\n"
      "that of large matrices, measured at the end of each run.\n\n"
      "  tandem compare configs/compare.yaml --seeds 1,2,3\n"
      "  tandem compare configs/compare.yaml --modes async --vary prefetch.depth=1,2,4\n\n"
      "The folder holds the runs, compare.json and compare.svg.");
}

void AddGenerate(CLI::App& app, GenerateArgs& args) {
  CLI::App& generate =
      *app.add_subcommand("generate", "Write examples to disk, to train from them later");
  const auto many = CLI::Range(std::int64_t{1}, std::int64_t{1} << 50);
  generate.add_option("config", args.config, "The YAML config, such as configs/quickstart.yaml")
      ->required()
      ->type_name("CONFIG");
  generate.add_option("--examples", args.sharding.examples, "Rows of the whole set")
      ->required()
      ->type_name("N")
      ->check(many);
  generate.add_option("--out", args.out, "Folder of the shards; those that are there are kept")
      ->required()
      ->type_name("DIR");
  generate.add_option("--share", args.share, "Make process I's shards only, of N from 0 on (0/1)")
      ->type_name("I/N");
  generate.add_option("--compression", args.compression, "none or zstd (none)")->type_name("HOW");
  generate.add_option("--chunk-rows", args.sharding.chunk_rows, "Rows that are read at once")
      ->type_name("N")
      ->check(many)
      ->capture_default_str();
  generate.add_option("--shard-chunks", args.sharding.chunks_per_shard, "Chunks of one file")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  AddSetOption(generate, args.overrides, "Change a key of the config; may be repeated");
  AddKeyOption(generate, args.overrides, "seed", "seed", "Seed of every random number");
  generate.footer(
      "Rows are a function of the config and their number: however often it is stopped and begun\n"
      "again, and however many processes share the work, the files are the same. Targets that\n"
      "ask a network need network.init_from.\n\n"
      "  tandem generate configs/quickstart.yaml --examples 1000000 --out shards/cube3\n"
      "  tandem train configs/quickstart.yaml --set data.source=shards --set "
      "data.path=shards/cube3\n"
      "\n" +
      std::string(kExitCodes));
}

void AddShards(CLI::App& app, ShardsArgs& args) {
  CLI::App& shards =
      *app.add_subcommand("shards", "List the shards of a folder, and verify that they are whole");
  shards.add_option("folder", args.folder, "What `tandem generate` wrote")
      ->required()
      ->type_name("DIR");
  shards.add_flag("--list", args.list, "Only list them: do not read their chunks");
  shards.add_flag("--json", args.json, "Print JSON");
  shards.footer(
      "Exit code 0 means that the set is whole, 1 that some of it is missing or damaged.");
}

}  // namespace

void AddCommands(CLI::App& app, Arguments& arguments) {
  AddTrain(app, arguments.train);
  AddSolve(app, arguments.solve);
  AddCompare(app, arguments.compare);
  AddGenerate(app, arguments.generate);
  AddShards(app, arguments.shards);
  AddConfig(app, arguments.config);
  AddPuzzleCommands(app, arguments);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    command->add_option("--plugin", arguments.plugins, "Load puzzles from a shared library")
        ->type_name("FILE")
        ->allow_extra_args(false);
  }
  app.require_subcommand(1);
  app.footer(std::string("Begin with `tandem train configs/quickstart.yaml`; `tandem COMMAND "
                         "--help` tells more.\n") +
             kExitCodes);
  app.get_formatter()->column_width(26);
}

}  // namespace tandem
