// The command line: its subcommands, and the options that several of them share.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/torch_library.h"
#include "base/text.h"
#include "config/load.h"
#include "tandem/domain.h"

namespace tandem {

/// CommandLine holds the parser, and what it found on the command line.
struct CommandLine {
  CLI::App app;
  std::function<int()> run;          ///< runs the subcommand and returns the exit code
  std::vector<std::string> plugins;  ///< shared libraries to load; an option of every subcommand
};

/// Command is a subcommand, and what its options say.
template <class Args>
struct Command {
  CLI::App& app;
  Args& args;
};

/// Adds a subcommand. If it is on the command line, `line.run` becomes a call of run(args).
template <class Args>
Command<Args> AddCommand(CommandLine& line, const std::string& name, const std::string& description,
                         int (*run)(const Args&)) {
  const auto args = std::make_shared<Args>();
  CLI::App& app = *line.app.add_subcommand(name, description);
  app.callback([&line, args, run] { line.run = [args, run] { return run(*args); }; });
  return {app, *args};
}

// Each adds a subcommand with its options. main.cc calls them.
void AddTrain(CommandLine& line);
void AddSolve(CommandLine& line);
void AddEvaluate(CommandLine& line);
void AddCompare(CommandLine& line);
void AddReport(CommandLine& line);
void AddGenerate(CommandLine& line);
void AddShards(CommandLine& line);
void AddInit(CommandLine& line);
void AddConfig(CommandLine& line);
void AddDomains(CommandLine& line);
void AddShow(CommandLine& line);
void AddApply(CommandLine& line);
void AddPlay(CommandLine& line);
void AddCheckDomain(CommandLine& line);

/// Adds an option or an argument, whose value the help shows as `type`.
template <class Value>
CLI::Option* AddOption(CLI::App& command, const std::string& name, Value& value,
                       const std::string& type, const std::string& help) {
  return command.add_option(name, value, help)->type_name(type);
}

inline constexpr const char* kExitCodes =
    "Exit codes: 0 done; 1 failed; 2 wrong usage or input; 130, 143 or 129 stopped by a signal;\n"
    "141 stopped because the reader of its output has gone.";

/// Adds `--OPTION VALUE`, a short form of `--set KEY=VALUE`. Both append to `overrides`, so the
/// later one wins.
void AddKeyOption(CLI::App& command, std::vector<Override>& overrides, const std::string& option,
                  const std::string& key, const std::string& help);

void AddSetOption(CLI::App& command, std::vector<Override>& overrides,
                  const std::string& help = "Set a key of the config; may be repeated");

/// Adds --model, --checkpoint and --set, which choose a trained network. Returns --model.
CLI::Option& AddModelOptions(CLI::App& command, ModelArgs& args);

/// Adds --states and --limit, which choose the states to solve. Returns --states.
CLI::Option* AddStatesOptions(CLI::App& command, std::string& states,
                              std::optional<std::int64_t>& limit);

/// Adds --search, --beam-width, --weight and other short forms of keys of the search.
void AddSearchOptions(CLI::App& command, std::vector<Override>& overrides);

/// Lets an argument name a file that comes with Tandem: FOLDER/NAME.ENDING for NAME, unless there
/// is a file NAME. "quickstart" stands for configs/quickstart.yaml.
CLI::Validator ShippedFile(const std::string& folder, const std::string& ending);

/// Adds the argument that names a config: a file, or a config that comes with Tandem.
CLI::Option* AddConfigOption(CLI::App& command, std::string& config);

/// Returns the names in a table of config/choices.h: "beam, anytime_beam or astar".
template <class Value, std::size_t kNumber>
std::string NamesIn(const std::array<Choice<Value>, kNumber>& choices) {
  std::array<std::string_view, kNumber> names;
  std::ranges::transform(choices, names.begin(), &Choice<Value>::name);
  return OneOf(names);
}

void AddDomainOption(CLI::App& command, std::string& domain);

/// StartArgs names a puzzle and its start state.
struct StartArgs {
  std::string domain;
  std::string state;        ///< in the puzzle's notation; "": a goal
  std::string scramble;     ///< moves to make before the start
  std::int64_t random = 0;  ///< steps of a random walk from a goal
  std::uint64_t seed = 0;   ///< seed of the random walk
};

void AddStartOptions(CLI::App& command, StartArgs& args);

CLI::Validator WholeNumber(std::int64_t least, std::int64_t most);

/// Adds --seed, the seed of random steps.
void AddSeedOption(CLI::App& command, std::uint64_t& seed);

/// Returns the start state that the options describe. Throws InputError if they contradict each
/// other or are not valid for the puzzle.
std::vector<std::uint8_t> StartState(const Domain& domain, const StartArgs& args);

/// Returns the end of a random walk of `steps` steps from a goal. It depends only on `seed` and
/// `number`.
std::vector<std::uint8_t> RandomState(const Domain& domain, std::int64_t steps, std::uint64_t seed,
                                      std::uint64_t number);

}  // namespace tandem
