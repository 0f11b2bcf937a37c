// The subcommands of `tandem` and their options.
#pragma once

#include <string>
#include <vector>

#include "apps/commands.h"

namespace CLI {
class App;
}

namespace tandem {

/// `Arguments` holds the arguments of every subcommand. Parsing fills only those of the subcommand
/// on the command line, and `plugins`.
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
  std::vector<std::string> plugins;  ///< shared libraries to load; an option of every subcommand
};

/// Adds the subcommands and their options to `app`. Parsing then fills `arguments`, which must
/// outlive `app`.
void AddCommands(CLI::App& app, Arguments& arguments);

/// Adds the subcommands about puzzles, which work without a network. AddCommands calls it.
void AddPuzzleCommands(CLI::App& app, Arguments& arguments);

}  // namespace tandem
