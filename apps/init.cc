// tandem init NAME
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/log.h"
#include "config/load.h"
#include "config/write.h"
#include "starting_configs.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

struct InitArgs {
  std::string domain;
  std::string out;  // "": standard output
};

Config Parse(const StartingConfig& config) {
  return ParseConfig(std::string(config.yaml), std::string(config.name));
}

// Returns the config for the puzzle `name` or one of its family (cube3 for cube3_htm), or else the
// first one.
const StartingConfig& NearestTo(const std::string& name) {
  const auto* const found = std::ranges::find_if(kStartingConfigs, [&](const StartingConfig& each) {
    const std::string puzzle = Parse(each).domain.name;
    return name == puzzle || name.starts_with(puzzle + "_");
  });
  return found == kStartingConfigs.end() ? kStartingConfigs.front() : *found;
}

// Returns the puzzle with an argument: the given one, or that of `nearest` if both puzzles have the
// same parameter, or the default.
DomainConfig DomainFor(const std::string& full_name, const DomainConfig& nearest) {
  MakeDomain(full_name);  // throws InputError if there is no such puzzle
  const std::size_t colon = full_name.find(':');
  DomainConfig domain{.name = full_name.substr(0, colon)};
  if (colon != std::string::npos) domain.argument = full_name.substr(colon + 1);
  const DomainParameter* parameter = ParameterOf(domain.name);
  if (parameter == nullptr || !domain.argument.empty()) return domain;
  const DomainParameter* other = ParameterOf(nearest.name);
  const bool same =
      other != nullptr && other->key == parameter->key && other->expected == parameter->expected;
  domain.argument = same ? nearest.argument : parameter->default_value;
  return domain;
}

std::string StarterFor(const std::string& full_name) {
  const StartingConfig& nearest = NearestTo(full_name.substr(0, full_name.find(':')));
  Config config = Parse(nearest);
  config.domain = DomainFor(full_name, config.domain);
  std::string yaml = StarterConfig(
      config,
      fmt::format("Trains on {}, with the settings of {}. Change them for your puzzle, above "
                  "all generate.max_scramble, the length of the longest scramble. `tandem "
                  "config --reference` describes the keys that are not listed here.",
                  config.domain.full_name(), nearest.name));
  ParseConfig(yaml, full_name);  // throws InputError if the puzzle cannot have these settings
  return yaml;
}

int RunInit(const InitArgs& args) {
  const std::string yaml = StarterFor(args.domain);
  if (args.out.empty()) {
    fmt::print("{}", yaml);
    return kDone;
  }
  std::error_code ignored;
  if (fs::exists(args.out, ignored)) {
    throw InputError(
        fmt::format("--out {}: the file exists and may have your changes; choose another name, or "
                    "remove it",
                    args.out));
  }
  WriteOutput(args.out, yaml);
  LogInfo(fmt::format("next: tandem train {}", args.out));
  return kDone;
}

}  // namespace

void AddInit(CommandLine& line) {
  const auto args = std::make_shared<InitArgs>();
  CLI::App& init = AddCommand(line, "init", "Write a commented config for a puzzle, to start from",
                              [args] { return RunInit(*args); });
  AddDomainOption(init, args->domain);
  init.add_option("--out", args->out, "Write to FILE instead of standard output; it must be new")
      ->type_name("FILE");
  init.footer(
      "The config has the keys to try first, and trains as it is. Its values are those of the\n"
      "nearest config that comes with Tandem.\n\n"
      "  tandem init npuzzle:4 --out tiles.yaml\n"
      "  tandem train tiles.yaml");
}

}  // namespace tandem
