// Entry point of `tandem`: parses the command line, calls a subcommand, and turns errors into exit
// codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/fault_point.h"
#include "base/text.h"
#include "domain/registry.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Opens /dev/null in place of closed standard streams. Otherwise the next file that the program
// opens would get the stream's number and receive what is printed. Standard input then reads as
// empty, and writing to standard output still fails.
void ReplaceClosedStreams() {
  constexpr std::array<std::pair<int, int>, 3> kStreams = {
      {{STDIN_FILENO, O_RDONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}}};
  for (const auto& [number, flags] : kStreams) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    if (::open("/dev/null", flags) != number) std::abort();
  }
}

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// Returns the names of the options of the program or of a subcommand: "--help" and so on.
std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool IsOption(std::string_view word) { return word.starts_with('-'); }

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

// "train: unknown option `--sed`; did you mean `--seed`? (see `tandem train --help`)".
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App* command = commands.empty() ? nullptr : commands.front();
  const std::string name = command == nullptr ? "" : command->get_name();
  return fmt::format("{}{}{} (see `tandem {}{}--help`)", name, name.empty() ? "" : ": ",
                     Explain(app, command, error), name, name.empty() ? "" : " ");
}

// Makes an empty value an error if the option takes a file, a folder or a name. It would otherwise
// count as an option that is not given.
void RefuseEmptyValues(CLI::App& command) {
  constexpr auto kTypes = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"FILE", "a file"},
       {"DIR", "a folder"},
       {"RUN", "the folder of a run"},
       {"RUN_DIR", "the folder of a run"},
       {"CONFIG", "a config"},
       {"STATE", "a state"},
       {"NAME", "a name"},
       {"NAME[:ARG]", "a puzzle"}});
  for (CLI::Option* option : command.get_options()) {
    const auto* const type =
        std::ranges::find(kTypes, std::string_view(option->get_type_name()),
                          &std::pair<std::string_view, std::string_view>::first);
    if (type == kTypes.end()) continue;
    option->check([expected = type->second](const std::string& value) {
      return value.empty() ? fmt::format("expected {}, found nothing", expected) : "";
    });
  }
}

// Adds the subcommands, in the order in which --help lists them, and their common option.
void AddCommands(CommandLine& line) {
  for (const auto add :
       {AddTrain, AddSolve, AddEvaluate, AddReport, AddCompare, AddGenerate, AddShards, AddInit,
        AddConfig, AddDomains, AddShow, AddApply, AddPlay, AddCheckDomain}) {
    add(line);
  }
  for (CLI::App* command : line.app.get_subcommands([](const CLI::App*) { return true; })) {
    AddOption(*command, "--plugin", line.plugins, "FILE", "Load puzzles from a shared library")
        ->allow_extra_args(false);
    RefuseEmptyValues(*command);
  }
}

int Run(int argc, char** argv) {
  CommandLine line;
  CLI::App& app = line.app;
  app.description(
      "Tandem trains neural heuristics for puzzles while it generates the training examples, and "
      "solves the puzzles with them.");
  app.set_version_flag("--version", "tandem " TANDEM_VERSION);
  AddCommands(line);
  app.require_subcommand(1);
  app.footer(std::string("Start with `tandem train configs/quickstart.yaml`. `tandem COMMAND "
                         "--help` describes a command.\n") +
             kExitCodes);
  app.get_formatter()->column_width(26);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    throw InputError(UsageMessage(app, error));
  }
  for (const std::string& file : line.plugins) LoadPlugin(file);
  return line.run();
}

// Runs the program and writes all of its output. Throws Error if that fails.
int RunAndFlush(int argc, char** argv) {
  int code = kDone;
  try {
    code = Run(argc, argv);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) throw;
    // fmt::print does not name the file.
    throw Error(fmt::format("cannot write standard output: {}", error.code().message()));
  }
  FlushStandardOutput();
  return code;
}

int Fail(ExitCode code, const std::string& message) {
  std::fprintf(stderr, "tandem: %s\n", Printable(message).c_str());
  return code;
}

int Main(int argc, char** argv) {
  try {
    if (const char* fault = std::getenv("TANDEM_FAULT")) ArmFault(fault);
    return RunAndFlush(argc, argv);
  } catch (const InputError& error) {
    return Fail(kBadInput, error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tandem: out of memory; %s\n", kToSpareMemory);
    return kFailed;
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string path = error.path1().string();
    return Fail(kFailed, path + (path.empty() ? "" : ": ") + error.code().message());
  } catch (const std::system_error& error) {
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    return Fail(kFailed, (is_thread ? "cannot start a thread: " : "") + std::string(error.what()));
  } catch (const std::exception& error) {
    return Fail(kFailed, error.what());
  } catch (...) {  // a plug-in may throw anything
    return Fail(kFailed, "unknown exception (not derived from std::exception)");
  }
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::ReplaceClosedStreams();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` then fails with a reason
  return tandem::Main(argc, argv);
}
