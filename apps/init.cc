// tandem init NAME
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/text.h"
#include "config/load.h"
#include "starting_configs.h"
#include "tandem/error.h"
#include "tandem/game.h"
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

// Returns the puzzle as it was given, perhaps without an argument.
DomainConfig DomainFor(const std::string& full_name) {
  MakeDomain(full_name);  // throws InputError if there is no such puzzle
  const std::size_t colon = full_name.find(':');
  DomainConfig domain{.name = full_name.substr(0, colon)};
  if (colon != std::string::npos) domain.argument = full_name.substr(colon + 1);
  constexpr std::string_view kPieces = ":pieces";
  const DomainParameter* const parameter = ParameterOf(domain.name);
  domain.pieces =
      parameter != nullptr && parameter->has_pieces && domain.argument.ends_with(kPieces);
  if (domain.pieces) domain.argument.resize(domain.argument.size() - kPieces.size());
  return domain;
}

// How far the puzzle of a config is from `wanted`: the difference of their sizes. If no argument is
// wanted, the default is nearest. Nothing if the two are different puzzles.
std::optional<std::int64_t> DistanceOf(const DomainConfig& puzzle, const DomainConfig& wanted) {
  if (puzzle.name != wanted.name) return std::nullopt;
  const DomainParameter* parameter = ParameterOf(puzzle.name);
  if (parameter == nullptr || puzzle.argument == wanted.argument) return 0;
  if (wanted.argument.empty()) return puzzle.argument == parameter->default_value ? 0 : 1;
  const auto size = ParseNumber<std::int64_t>(puzzle.argument);
  const auto wanted_size = ParseNumber<std::int64_t>(wanted.argument);
  if (size && wanted_size) return std::abs(*size - *wanted_size);
  return parameter->is_file ? std::nullopt : std::optional<std::int64_t>(1);
}

// Returns the config of the nearest puzzle, or nothing if none is the same puzzle in another size.
const StartingConfig* NearestTo(const DomainConfig& wanted) {
  const StartingConfig* nearest = nullptr;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const StartingConfig& each : kStartingConfigs) {
    const auto distance = DistanceOf(Parse(each).domain, wanted);
    if (!distance || *distance >= least) continue;
    nearest = &each;
    least = *distance;
  }
  return nearest;
}

// The config to start from if none is for the same puzzle: the first one, or that of a game.
const StartingConfig& AnyConfigFor(const std::string& full_name) {
  const bool is_game = AsGame(*MakeDomain(full_name)) != nullptr;
  return *std::ranges::find_if(kStartingConfigs, [&](const StartingConfig& each) {
    return !is_game || Parse(each).generate.target == Target::kSelfPlay;
  });
}

// Returns the config that comes with the nearest puzzle. If no puzzle is near, returns another one
// without the ball around the goal, because not every puzzle can have it.
std::string StarterFor(const std::string& full_name) {
  const DomainConfig puzzle = DomainFor(full_name);
  const StartingConfig* const nearest = NearestTo(puzzle);
  const StartingConfig& base = nearest != nullptr ? *nearest : AnyConfigFor(full_name);
  Config config = Parse(base);
  if (nearest == nullptr) {
    const DomainParameter* const parameter = ParameterOf(puzzle.name);
    config.search.ball_radius = 0;
    config.domain = {.name = puzzle.name,
                     .argument = parameter != nullptr ? parameter->default_value : ""};
  }
  if (!puzzle.argument.empty()) config.domain.argument = puzzle.argument;
  config.domain.pieces = puzzle.pieces;
  std::string yaml = StarterConfig(
      config,
      fmt::format("Trains on {}, with the settings of {}. Change them for your puzzle, above "
                  "all generate.max_scramble, the length of the longest scramble "
                  "(docs/guide/train.md). `tandem config --reference` describes the keys that are "
                  "not listed here.",
                  config.domain.full_name(), base.name));
  ParseConfig(yaml, full_name);  // throws InputError if the puzzle cannot have these settings
  return yaml;
}

int RunInit(const InitArgs& args) {
  const std::string yaml = StarterFor(args.domain);
  std::error_code ignored;
  if (fs::exists(args.out, ignored) && !IsDeviceOrPipe(args.out) && !NamesOpenFile(args.out)) {
    throw InputError(
        fmt::format("--out {}: the file exists and may have your changes; choose another name, or "
                    "remove it",
                    args.out));
  }
  WriteOutput(args.out, yaml);
  if (fs::is_regular_file(args.out, ignored)) {
    LogNextCommand(fmt::format("train {}", ShellWord(args.out)));
  }
  return kDone;
}

}  // namespace

void AddInit(CommandLine& line) {
  const auto [init, args] =
      AddCommand(line, "init", "Write a commented config for a puzzle, to start from", RunInit);
  AddDomainOption(init, args.domain);
  AddOption(init, "--out", args.out, "FILE",
            "Write to FILE instead of standard output; it must be new");
  init.footer(
      "The config has the keys to try first, and trains as it is. Its values are those of the\n"
      "config that comes with Tandem for this puzzle or for the nearest size of it. A puzzle\n"
      "without one gets those of the quickstart, and a game those of connect_four.\n\n"
      "  tandem init npuzzle:4 --out tiles.yaml\n"
      "  tandem train tiles.yaml");
}

}  // namespace tandem
