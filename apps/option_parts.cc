#include "apps/option_parts.h"

#include <CLI/CLI.hpp>

namespace tandem {

void AddKeyOption(CLI::App& command, std::vector<Override>& overrides, const std::string& option,
                  const std::string& key, const std::string& help) {
  command
      .add_option_function<std::string>(
          "--" + option,
          [&overrides, option, key](const std::string& value) {
            overrides.push_back({key, value, "--" + option + " " + value});
          },
          help)
      ->type_name("VALUE")
      ->trigger_on_parse();  // if --seed and --set seed=N are both given, the later wins
}

void AddSetOption(CLI::App& command, std::vector<Override>& overrides, const std::string& help) {
  command
      .add_option_function<std::vector<std::string>>(
          "--set",
          [&overrides](const std::vector<std::string>& settings) {
            for (const std::string& setting : settings) overrides.push_back(ParseOverride(setting));
          },
          help)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->trigger_on_parse();
}

CLI::Option& AddModelOptions(CLI::App& command, ModelArgs& args) {
  CLI::Option* model = command.add_option("--model", args.run, "Folder of a run of `tandem train`")
                           ->type_name("RUN_DIR");
  command
      .add_option("--checkpoint", args.checkpoint,
                  "last, best (by validation), or a checkpoint file (default: last)")
      ->type_name("WHICH");
  AddSetOption(command, args.overrides, "Set a key of the run's config; may be repeated");
  return *model;
}

void AddDomainOption(CLI::App& command, std::string& domain) {
  command.add_option("domain", domain, "Puzzle, such as cube3 or npuzzle:4")
      ->required()
      ->type_name("NAME[:ARG]");
}

void AddStartOptions(CLI::App& command, StartArgs& args) {
  AddDomainOption(command, args.domain);
  command
      .add_option("state,--state", args.state, "State in the puzzle's notation (default: a goal)")
      ->type_name("STATE");
  command.add_option("--scramble", args.scramble, "Moves to make first, separated by spaces")
      ->type_name("MOVES");
  command.add_option("--random", args.random, "Start STEPS random steps from a goal")
      ->type_name("STEPS")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}));
  command.add_option("--seed", args.seed, "Seed of the random steps")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace tandem
