#include "apps/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tandem {
namespace {

bool IsOption(std::string_view word) { return word.starts_with('-'); }

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string UnknownWord(std::string_view word, const CLI::App& of, const std::string& kind) {
  const std::vector<std::string> known = kind == "command" ? CommandsOf(of) : OptionsOf(of);
  const std::string_view nearest = Nearest(word.substr(0, word.find('=')), known);
  if (!nearest.empty()) {
    return fmt::format("unknown {} `{}`; did you mean `{}`?", kind, word, nearest);
  }
  return fmt::format("unknown {} `{}`; the {}s are {}", kind, word, kind, fmt::join(known, ", "));
}

// Reports an unknown word first, because it often causes the other errors.
std::string Explain(const CLI::App& app, const CLI::App* command, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const auto option = std::ranges::find_if(unknown, IsOption);
  if (option != unknown.end()) {
    if (command == nullptr) return UnknownWord(*option, app, "option");
    if (std::ranges::count(app.remaining(), *option) > 0) {
      return fmt::format("`{}` comes before the command; put options after it", *option);
    }
    return UnknownWord(*option, *command, "option");
  }
  if (command == nullptr) {
    if (!unknown.empty()) return UnknownWord(unknown.front(), app, "command");
    return fmt::format("expected a command: {}", fmt::join(CommandsOf(app), ", "));
  }
  if (!unknown.empty()) return fmt::format("unexpected argument `{}`", unknown.front());
  return error.what();
}

}  // namespace

std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App* command = commands.empty() ? nullptr : commands.front();
  const std::string name = command == nullptr ? "" : command->get_name();
  return fmt::format("{}{}{} (see `tandem {}{}--help`)", name, name.empty() ? "" : ": ",
                     Explain(app, command, error), name, name.empty() ? "" : " ");
}

}  // namespace tandem
