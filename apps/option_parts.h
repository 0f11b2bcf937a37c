// Options that several subcommands share.
#pragma once

#include <string>
#include <vector>

#include "apps/commands.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tandem {

/// Adds `--OPTION VALUE`, a short form of `--set KEY=VALUE`. Both append to `overrides`, so the
/// later one wins.
void AddKeyOption(CLI::App& command, std::vector<Override>& overrides, const std::string& option,
                  const std::string& key, const std::string& help);

/// Adds `--set KEY=VALUE`.
void AddSetOption(CLI::App& command, std::vector<Override>& overrides, const std::string& help);

/// Adds --model, --checkpoint and --set, which choose a trained network. Returns --model.
CLI::Option& AddModelOptions(CLI::App& command, ModelArgs& args);

/// Adds the puzzle and the options of its start state.
void AddStartOptions(CLI::App& command, StartArgs& args);

/// Adds the puzzle alone.
void AddDomainOption(CLI::App& command, std::string& domain);

}  // namespace tandem
