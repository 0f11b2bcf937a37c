// tandem train CONFIG: the options. torch/train.cc trains.
#include <memory>

#include "apps/command_line.h"
#include "tandem/error.h"

namespace tandem {
namespace {

int Run(const TrainArgs& args) {
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

}  // namespace

void AddTrain(CommandLine& line) {
  const auto args = std::make_shared<TrainArgs>();
  CLI::App& train = AddCommand(line, "train", "Train a network from a YAML config",
                               [args] { return Run(*args); });
  train.add_option("config", args->config, "YAML config, such as configs/quickstart.yaml")
      ->type_name("CONFIG");
  train
      .add_option("--out", args->out, "New or empty folder for the run (default: runs/CONFIG-TIME)")
      ->type_name("DIR");
  train.add_option("--resume", args->resume, "Continue a run that was stopped or killed")
      ->type_name("RUN_DIR");
  AddSetOption(train, args->overrides);
  AddKeyOption(train, args->overrides, "mode", "pipeline.mode", NamesIn(kModes));
  AddKeyOption(train, args->overrides, "device", "device", "auto, cpu, cuda or cuda:N");
  AddKeyOption(train, args->overrides, "seed", "seed", "Seed of every random number");
  train.footer(
      "Workers generate examples into one buffer while the network trains on the other.\n"
      "Ctrl-C ends the run after the current step and saves its state. --resume continues it;\n"
      "on a CPU it ends with the same weights as a run that was never stopped.\n\n"
      "  tandem train configs/quickstart.yaml\n"
      "  tandem train configs/quickstart.yaml --set train.batch_size=1000 --seed 7\n"
      "  tandem train --resume runs/my-run\n\n"
      "The folder receives config.yaml (every key, with `auto` replaced), metrics.jsonl (a line\n"
      "per update), events for TensorBoard, checkpoint.safetensors (for `tandem solve`, and for\n"
      "the package safetensors), best.safetensors (the best validated weights) and "
      "summary.json.\n" +
      std::string(kExitCodes));
}

}  // namespace tandem
