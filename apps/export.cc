// tandem export RUN --format FORMAT --out FILE: the options. torch/weights.cc exports.
#include <memory>

#include "apps/command_line.h"

namespace tandem {

void AddExport(CommandLine& line) {
  const auto args = std::make_shared<ExportArgs>();
  CLI::App& command = AddCommand(line, "export", "Write a trained network for another program",
                                 [args] { return OpenTorchLibrary().run_export(*args); });
  command.add_option("run", args->run, "Folder of a run of `tandem train`")
      ->required()
      ->type_name("RUN_DIR");
  command.add_option("--format", args->format, "pytorch, safetensors or deepxube")
      ->required()
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"pytorch", "safetensors", "deepxube"}));
  command.add_option("--out", args->out, "File to write")->required()->type_name("FILE");
  command
      .add_option("--checkpoint", args->checkpoint,
                  "last, best (by validation), or a checkpoint file (default: last)")
      ->type_name("WHICH");
  command.footer(
      "pytorch is a state dict that torch.load(FILE, weights_only=True) reads. safetensors has\n"
      "the same tensors, and what they are for as metadata. deepxube is a heur.pt for DeepXube\n"
      "0.3.2: its resnet_fc then gives the same numbers for cube3, npuzzle and lights_out.\n\n"
      "  tandem export runs/my-run --format pytorch --out net.pt\n"
      "  tandem export runs/my-run --format deepxube --out heur.pt --checkpoint best\n\n"
      "docs/deepxube.md has the layers, and a module that loads them. `tandem import` is the way\n"
      "back.");
}

}  // namespace tandem
