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

/// --OPTION VALUE, which stands for a config key, so that --set and it go the same way.
void AddKeyOption(CLI::App& command, std::vector<Override>& overrides, const std::string& option,
                  const std::string& key, const std::string& help);

/// --set KEY=VALUE.
void AddSetOption(CLI::App& command, std::vector<Override>& overrides, const std::string& help);

/// --model, --checkpoint and --set of a run that was trained; returns --model.
CLI::Option& AddModelOptions(CLI::App& command, ModelArgs& args);

/// The puzzle, and the state to begin with.
void AddStartOptions(CLI::App& command, StartArgs& args);

/// The puzzle alone.
void AddDomainOption(CLI::App& command, std::string& domain);

}  // namespace tandem
