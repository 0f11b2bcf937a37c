// What can be typed after `tandem`.
#pragma once

#include <string>
#include <vector>

#include "apps/commands.h"

namespace CLI {
class App;
}

namespace tandem {

/// Of all subcommands; only that of the one that was called is filled.
struct Arguments {
  TrainArgs train;
  SolveArgs solve;
  CompareArgs compare;
  GenerateArgs generate;
  ShardsArgs shards;
  ConfigArgs config;
  DomainsArgs domains;
  ShowArgs show;
  ApplyArgs apply;
  PlayArgs play;
  ConvertArgs convert;
  std::string check_domain;
  std::vector<std::string> plugins;  ///< of whichever subcommand
};

/// Declares the subcommands and their options; parsing then fills `arguments`, which must live as
/// long as `app`.
void AddCommands(CLI::App& app, Arguments& arguments);

/// Those that show puzzles and can do without a network, for AddCommands.
void AddPuzzleCommands(CLI::App& app, Arguments& arguments);

}  // namespace tandem
