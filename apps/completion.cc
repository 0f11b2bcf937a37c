// tandem completion bash|zsh
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr const char* kShells = "bash|zsh";

// Returns `text` with `to` in place of each `from`.
std::string Replaced(std::string_view text, char from, std::string_view to) {
  std::string result;
  for (const char c : text) result += c == from ? std::string(to) : std::string(1, c);
  return result;
}

std::vector<const CLI::Option*> PositionalsOf(const CLI::App& command) {
  std::vector<const CLI::Option*> positionals;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) positionals.push_back(option);
  }
  return positionals;
}

// Returns the values that an argument may have: puzzles, or the names of its type ("bash|zsh").
// Returns nothing if it may be any text or file.
std::vector<std::string> ValuesOf(const CLI::Option& argument) {
  const std::string type = argument.get_type_name();
  if (type == "NAME[:ARG]") return DomainNames();
  if (type.find('|') == std::string::npos) return {};
  return {type.substr(0, type.find('|')), type.substr(type.find('|') + 1)};
}

// Bash offers options for a word that begins with a hyphen, the values of the first argument, and
// otherwise files (-o default).
std::string BashScript(const CLI::App& app) {
  std::string cases;
  for (const std::string& name : CommandsOf(app)) {
    const CLI::App& command = *app.get_subcommand(name);
    const std::vector<const CLI::Option*> positionals = PositionalsOf(command);
    const std::vector<std::string> values =
        positionals.empty() ? std::vector<std::string>() : ValuesOf(*positionals.front());
    cases += fmt::format("    {}) options='{}' values='{}' ;;\n", name,
                         fmt::join(OptionsOf(command), " "), fmt::join(values, " "));
  }
  return fmt::format(
      R"sh(# Completes tandem in bash. To load it: eval "$(tandem completion bash)"
_tandem() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options= values= words=
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='{} {}'
  elif [ "${{word#-}}" != "$word" ]; then
    words=$options
  elif [ "$COMP_CWORD" -eq 2 ]; then
    words=$values
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _tandem tandem
)sh",
      cases, fmt::join(CommandsOf(app), " "), fmt::join(OptionsOf(app), " "));
}

std::string InSingleQuotes(std::string_view text) {
  return fmt::format("'{}'", Replaced(text, '\'', R"('\'')"));
}

// Returns what zsh offers for a value, after a colon: ":FILE:_files".
std::string ZshValue(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::vector<std::string> values = ValuesOf(option);
  const ValueType* const described = TypeOf(option);
  return fmt::format(":{}:{}", Replaced(type, ':', R"(\:)"),
                     !values.empty() ? fmt::format("({})", fmt::join(values, " "))
                     : described != nullptr && described->is_path ? "_files"
                                                                  : " ");
}

// Returns the options and arguments of a command as _arguments takes them.
std::vector<std::string> ZshSpecs(const CLI::App& command) {
  std::vector<std::string> specs;
  int position = 0;
  for (const CLI::Option* option : command.get_options()) {
    const bool takes_value = option->get_items_expected() != 0;
    const std::string value = takes_value ? ZshValue(*option) : "";
    const std::string meaning =
        Replaced(Replaced(option->get_description(), '[', R"(\[)"), ']', R"(\])");
    const bool repeats = option->get_items_expected_max() > 1;
    for (const std::string& name : option->get_lnames()) {
      specs.push_back(
          InSingleQuotes(fmt::format("{}--{}[{}]{}", repeats ? "*" : "", name, meaning, value)));
    }
    if (option->get_positional()) {
      specs.push_back(InSingleQuotes(std::to_string(++position) + value));
    }
  }
  return specs;
}

std::string ZshScript(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const std::string& name : CommandsOf(app)) {
    const CLI::App& command = *app.get_subcommand(name);
    commands += fmt::format("    {}\n", InSingleQuotes(name + ":" + command.get_description()));
    cases += fmt::format("    {})\n      _arguments \\\n        {} ;;\n", name,
                         fmt::join(ZshSpecs(command), " \\\n        "));
  }
  return fmt::format(
      R"sh(#compdef tandem
# Completes tandem in zsh. To load it: eval "$(tandem completion zsh)"
_tandem() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
if [ "$funcstack[1]" = _tandem ]; then
  _tandem "$@"
else
  compdef _tandem tandem
fi
)sh",
      commands, cases);
}

}  // namespace

void AddCompletion(CommandLine& line) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& completion = AddCommand(
      line, "completion", "Print a script that completes commands in a shell", [shell, &line] {
        fmt::print("{}", *shell == "zsh" ? ZshScript(line.app) : BashScript(line.app));
        return kDone;
      });
  completion.add_option("shell", *shell, "Shell to complete in")
      ->required()
      ->type_name(kShells)
      ->check([](const std::string& name) -> std::string {
        return name == "bash" || name == "zsh" ? "" : "expected bash or zsh, not " + name;
      });
  completion.footer(
      "To have completion in every shell, add the line to ~/.bashrc or, after compinit, to\n"
      "~/.zshrc:\n\n"
      "  eval \"$(tandem completion bash)\"\n"
      "  eval \"$(tandem completion zsh)\"");
}

}  // namespace tandem
