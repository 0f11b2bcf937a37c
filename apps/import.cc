// tandem import FILE --out RUN_DIR: the options. torch/weights.cc imports.
#include <memory>

#include "apps/command_line.h"

namespace tandem {

void AddImport(CommandLine& line) {
  const auto args = std::make_shared<ImportArgs>();
  CLI::App& command = AddCommand(line, "import", "Make a run of a network from another program",
                                 [args] { return OpenTorchLibrary().run_import(*args); });
  command
      .add_option("file", args->file,
                  "heur.pt of DeepXube, or a state dict as `tandem export` writes it (PyTorch or "
                  "safetensors)")
      ->required()
      ->type_name("FILE");
  command.add_option("--out", args->out, "Folder to make")->required()->type_name("RUN_DIR");
  command
      .add_option("--config", args->config,
                  "YAML config with the puzzle (default: every key has its default)")
      ->type_name("CONFIG");
  AddSetOption(command, args->overrides);
  command.footer(
      "The file decides the width, the blocks, the normalisation and the first layer of the\n"
      "network, and whether it is a V net. The config decides the rest.\n\n"
      "  tandem import heur.pt --out runs/theirs\n"
      "  tandem import heur.pt --set domain.name=npuzzle --set domain.size=4 --out runs/theirs\n\n"
      "`tandem solve`, `tandem evaluate` and network.init_from take the folder as they take that\n"
      "of a run. It has no optimizer, so it cannot be resumed: train with network.init_from.");
}

}  // namespace tandem
