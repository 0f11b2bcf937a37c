// Entry point of `tandem`: parses the command line, calls a subcommand, and turns errors into exit
// codes.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include "apps/options.h"
#include "apps/torch_library.h"
#include "apps/usage.h"
#include "config/fields.h"
#include "domain/plugin.h"
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

int Dispatch(const CLI::App& app, const Arguments& arguments) {
  if (app.got_subcommand("config")) return RunConfig(arguments.config);
  if (app.got_subcommand("compare")) return RunCompare(arguments.compare);
  if (app.got_subcommand("generate")) return RunGenerate(arguments.generate);
  if (app.got_subcommand("shards")) return RunShards(arguments.shards);
  if (app.got_subcommand("train")) return RunTrain(arguments.train);
  if (app.got_subcommand("solve")) return RunSolve(arguments.solve);
  if (app.got_subcommand("show")) return RunShow(arguments.show);
  if (app.got_subcommand("apply")) return RunApply(arguments.apply);
  if (app.got_subcommand("play")) return RunPlay(arguments.play);
  if (app.got_subcommand("convert")) return RunConvert(arguments.convert);
  if (app.got_subcommand("check-domain")) return RunCheckDomain(arguments.check_domain);
  return RunDomains(arguments.domains);
}

int Run(int argc, char** argv) {
  CLI::App app(
      "Tandem trains neural heuristics for puzzles while it generates the training examples, and "
      "solves the puzzles with them.");
  app.set_version_flag("--version", "tandem " TANDEM_VERSION);
  Arguments arguments;
  AddCommands(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    throw InputError(UsageMessage(app, error));
  }
  for (const std::string& file : arguments.plugins) LoadPlugin(file);
  arguments.compare.plugins = arguments.plugins;
  return Dispatch(app, arguments);
}

int Main(int argc, char** argv) {
  try {
    const int code = Run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw Error("cannot write standard output");
    }
    return code;
  } catch (const InputError& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    return kBadInput;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tandem: out of memory; %s\n", kToSpareMemory);
    return kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    return kFailed;
  } catch (...) {  // a plug-in may throw anything
    std::fprintf(stderr, "tandem: unknown exception (not derived from std::exception)\n");
    return kFailed;
  }
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::ReplaceClosedStreams();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` then fails with a reason
  return tandem::Main(argc, argv);
}
