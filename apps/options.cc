#include "apps/options.h"

#include <CLI/CLI.hpp>

#include "apps/option_parts.h"

namespace tandem {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 1 failed; 2 wrong usage or input; 130, 143 or 129 stopped by a signal.";

void AddTrain(CLI::App& app, TrainArgs& args) {
  CLI::App& train = *app.add_subcommand("train", "Train a network from a YAML config");
  train.add_option("config", args.config, "YAML config, such as configs/quickstart.yaml")
      ->type_name("CONFIG");
  train
      .add_option("--out", args.out, "New or empty folder for the run (default: runs/CONFIG-TIME)")
      ->type_name("DIR");
  train.add_option("--resume", args.resume, "Continue a run that was stopped or killed")
      ->type_name("RUN_DIR");
  AddSetOption(train, args.overrides, "Set a key of the config; may be repeated");
  AddKeyOption(train, args.overrides, "mode", "pipeline.mode", "async, sequential or sync_main");
  AddKeyOption(train, args.overrides, "device", "device", "auto, cpu, cuda or cuda:N");
  AddKeyOption(train, args.overrides, "seed", "seed", "Seed of every random number");
  train.footer(
      "Workers generate examples into one buffer while the network trains on the other.\n"
      "Ctrl-C ends the run after the current step and saves its state. --resume continues it;\n"
      "on a CPU it ends with the same weights as a run that was never stopped.\n\n"
      "  tandem train configs/quickstart.yaml\n"
      "  tandem train configs/quickstart.yaml --set train.batch_size=1000 --seed 7\n"
      "  tandem train --resume runs/my-run\n\n"
      "The folder receives config.yaml (every key, with `auto` replaced), metrics.jsonl (a line\n"
      "per update), checkpoint.pt (for `tandem solve`, and for Python's torch.load), best.pt\n"
      "(the best validated weights) and summary.json.\n" +
      std::string(kExitCodes));
}

void AddSolve(CLI::App& app, SolveArgs& args) {
  CLI::App& solve = *app.add_subcommand("solve", "Solve puzzles with a trained network");
  AddModelOptions(solve, args.model).required();
  solve
      .add_option(
          "--states", args.states,
          "File of JSON lines with `id`, `state` and, if known, `optimal`; or one state per line")
      ->required()
      ->type_name("FILE");
  solve.add_option("--limit", args.limit, "Solve only the first N states")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  AddKeyOption(solve, args.model.overrides, "search", "search.method", "beam or astar");
  AddKeyOption(solve, args.model.overrides, "beam-width", "search.beam_width",
               "States that beam search keeps at each depth");
  AddKeyOption(solve, args.model.overrides, "weight", "search.weight",
               "Weight of the path's cost in A*; 0: greedy best-first search");
  solve.add_option("--out", args.out, "Write results to FILE, one JSON object per line")
      ->type_name("FILE");
  solve.footer(
      "Every solution is replayed from its state to check that it reaches the goal.\n\n"
      "Beam search is the default. A wider beam takes longer and finds shorter solutions.\n"
      "A* first expands the states with the least\n"
      "    weight * (cost so far) + (estimate of the remaining cost).\n"
      "A greater weight takes longer and finds shorter solutions; from weight 1 on they are the\n"
      "shortest if the network's estimates are never too high. A* stores every state, up to\n"
      "search.max_nodes. search.max_seconds limits both searches. If no solution is found, the\n"
      "result has the best state that the search reached.\n\n"
      "  tandem solve --model runs/my-run --states data/cube3_ten.jsonl\n"
      "  tandem solve --model runs/my-run --states my.txt --beam-width 16384\n"
      "  tandem solve --model runs/my-run --states my.txt --search astar --weight 0.8\n\n"
      "Without --out the JSON lines go to standard output, unless that is a terminal.\n"
      "Exit codes: 0 all states solved; 1 some not solved; 2 some lines are not valid states.");
}

void AddConfig(CLI::App& app, ConfigArgs& args) {
  CLI::App& config = *app.add_subcommand(
      "config", "Describe every config key, or check a config and print it in full");
  config.add_option("config", args.file, "YAML config to check")->type_name("CONFIG");
  config.add_flag("--reference", args.reference,
                  "Print every key with its default, meaning and accepted values");
  AddSetOption(config, args.overrides, "Set a key of the config; may be repeated");
  config.footer(
      "The output is itself a config, with every key.\n\n"
      "  tandem config --reference > my.yaml\n"
      "  tandem config configs/quickstart.yaml --set train.batch_size=1000\n\n"
      "An error names the line of a mistake. `auto` is printed as it is, because its value\n"
      "depends on the machine.");
}

void AddCompare(CLI::App& app, CompareArgs& args) {
  CLI::App& compare = *app.add_subcommand(
      "compare", "Run a config in several modes and report differences beyond chance");
  compare.add_option("config", args.config, "YAML config, such as configs/compare.yaml")
      ->required()
      ->type_name("CONFIG");
  compare.add_option("--modes", args.modes, "Modes to run; the first is the baseline")
      ->type_name("MODE,...")
      ->capture_default_str();
  compare.add_option("--seeds", args.seeds, "Seeds; every mode runs once with each")
      ->type_name("N,...")
      ->capture_default_str();
  compare
      .add_option("--vary", args.vary, "Also run each of these values of a key; may be repeated")
      ->type_name("KEY=V1,V2")
      ->allow_extra_args(false);
  compare.add_option("--json", args.json, "Also write the results to FILE")->type_name("FILE");
  compare
      .add_option("--out", args.out, "New or empty folder for all runs (default: runs/compare-...)")
      ->type_name("DIR");
  AddSetOption(compare, args.overrides, "Set a key of the config; may be repeated");
  AddKeyOption(compare, args.overrides, "device", "device", "auto, cpu, cuda or cuda:N");
  compare.footer(
      "Every run does the same updates; train.max_seconds is ignored. Each figure is the median\n"
      "over the seeds, with the minimum and the maximum, and leaves out the cold start. Each\n"
      "difference comes with the probability that chance alone makes it as large (an exact\n"
      "permutation test that pairs the runs of each seed). A verdict takes at least five seeds.\n\n"
      "Solve rates after equal seconds are taken when the first run of a seed ends, interpolated\n"
      "between the validations before and after that moment.\n\n"
      "The ideal speed-up is over sequential, if all waiting were filled with work. The busiest\n"
      "side is the generator, the main thread, the cores or the GPU, in each run. The product\n"
      "rate is that of large matrix products, measured at the end of each run.\n\n"
      "  tandem compare configs/compare.yaml --seeds 1,2,3\n"
      "  tandem compare configs/compare.yaml --modes async --vary prefetch.depth=1,2,4\n\n"
      "The folder receives the runs, compare.json and compare.svg.");
}

void AddGenerate(CLI::App& app, GenerateArgs& args) {
  CLI::App& generate = *app.add_subcommand("generate", "Write training examples to disk");
  const auto many = CLI::Range(std::int64_t{1}, std::int64_t{1} << 50);
  generate.add_option("config", args.config, "YAML config, such as configs/quickstart.yaml")
      ->required()
      ->type_name("CONFIG");
  generate.add_option("--examples", args.sharding.examples, "Number of examples in the whole set")
      ->required()
      ->type_name("N")
      ->check(many);
  generate.add_option("--out", args.out, "Folder for the shards; complete shards in it are kept")
      ->required()
      ->type_name("DIR");
  generate
      .add_option("--share", args.share,
                  "Write only the shards of process I of N, counted from 0 (default: 0/1)")
      ->type_name("I/N");
  generate.add_option("--compression", args.compression, "none or zstd (default: none)")
      ->type_name("HOW");
  generate
      .add_option("--chunk-rows", args.sharding.chunk_rows, "Rows per chunk, the unit of reading")
      ->type_name("N")
      ->check(many)
      ->capture_default_str();
  generate.add_option("--shard-chunks", args.sharding.chunks_per_shard, "Chunks per file")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  AddSetOption(generate, args.overrides, "Set a key of the config; may be repeated");
  AddKeyOption(generate, args.overrides, "seed", "seed", "Seed of every random number");
  generate.footer(
      "Rows depend only on the config and their number. The files are the same however often the\n"
      "command is stopped and started again, and however many processes share the work. Targets\n"
      "other than walk_length need a network: set network.init_from.\n\n"
      "  tandem generate configs/quickstart.yaml --examples 1000000 --out shards/cube3\n"
      "  tandem train configs/quickstart.yaml --set data.source=shards --set "
      "data.path=shards/cube3\n"
      "\n" +
      std::string(kExitCodes));
}

void AddShards(CLI::App& app, ShardsArgs& args) {
  CLI::App& shards = *app.add_subcommand("shards", "List the shards in a folder and verify them");
  shards.add_option("folder", args.folder, "Folder that `tandem generate` wrote")
      ->required()
      ->type_name("DIR");
  shards.add_flag("--list", args.list, "List the shards without reading their chunks");
  shards.add_flag("--json", args.json, "Print JSON");
  shards.footer("Exit codes: 0 the set is complete; 1 some of it is missing or damaged.");
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
  app.footer(std::string("Start with `tandem train configs/quickstart.yaml`. `tandem COMMAND "
                         "--help` describes a command.\n") +
             kExitCodes);
  app.get_formatter()->column_width(26);
}

}  // namespace tandem
