// tandem config --reference, tandem config CONFIG
#include <fmt/format.h>

#include <memory>

#include "apps/command_line.h"
#include "apps/output.h"
#include "config/load.h"
#include "tandem/error.h"

namespace tandem {
namespace {

struct ConfigArgs {
  std::string file;
  bool reference = false;  // print the reference; `file` is then empty
  std::vector<Override> overrides;
};

int RunConfig(const ConfigArgs& args) {
  if (args.reference && !(args.file.empty() && args.overrides.empty())) {
    throw InputError("config: --reference prints the defaults; remove CONFIG and --set");
  }
  if (!args.reference && args.file.empty()) {
    throw InputError(
        "config: expected a config to check and print in full, or --reference to list every key");
  }
  if (args.reference) {
    fmt::print("{}", ConfigReference());
  } else {
    fmt::print("{}", ToYaml(LoadConfig(args.file, args.overrides)));
  }
  return kDone;
}

}  // namespace

void AddConfig(CommandLine& line) {
  const auto args = std::make_shared<ConfigArgs>();
  CLI::App& config = AddCommand(line, "config",
                                "Describe every config key, or check a config and print it in full",
                                [args] { return RunConfig(*args); });
  config.add_option("config", args->file, "YAML config to check")->type_name("CONFIG");
  config.add_flag("--reference", args->reference,
                  "Print every key with its default, meaning and accepted values");
  AddSetOption(config, args->overrides);
  config.footer(
      "The output is itself a config, with every key.\n\n"
      "  tandem config --reference > my.yaml\n"
      "  tandem config configs/quickstart.yaml --set train.batch_size=1000\n\n"
      "An error names the line of a mistake. `auto` is printed as it is, because its value\n"
      "depends on the machine.");
}

}  // namespace tandem
