#include <CLI/CLI.hpp>

#include "apps/option_parts.h"
#include "apps/options.h"

namespace tandem {
namespace {

void AddDomains(CLI::App& app, DomainsArgs& args) {
  CLI::App& domains = *app.add_subcommand("domains", "List the puzzles, or tell the facts of one");
  domains.add_option("name", args.name, "A puzzle, such as cube3 or npuzzle:4")
      ->type_name("NAME[:ARG]");
  domains.add_flag("--json", args.json, "As JSON: an object, or an array of all");
}

void AddShow(CLI::App& app, ShowArgs& args) {
  CLI::App& show = *app.add_subcommand("show", "Draw a state, in the terminal or as SVG");
  AddStartOptions(show, args.start);
  show.add_option("--svg", args.svg, "Write the picture there too")->type_name("FILE");
  show.footer(
      "The state stands alone on the last line, or the last lines where it has several.\n\n"
      "  tandem show cube3 --scramble \"R U R' U'\" --svg cube.svg\n"
      "  tandem show sokoban --random 40");
}

void AddPlay(CLI::App& app, PlayArgs& args) {
  CLI::App& play = *app.add_subcommand("play", "Play a puzzle, and ask a network for advice");
  AddStartOptions(play, args.start);
  AddModelOptions(play, args.model);
  play.footer(
      "Each line is moves, or a command; `help` lists these. A network (--model) tells how far it\n"
      "thinks the goal is and which move is best, and solves the puzzle.\n\n"
      "  tandem play npuzzle:4 --random 100\n"
      "  tandem play cube3 --model runs/my-run --scramble \"R U R' U'\"\n"
      "  printf 'R U\\nundo\\nstate\\n' | tandem play cube3");
}

void AddApply(CLI::App& app, ApplyArgs& args) {
  CLI::App& apply = *app.add_subcommand("apply", "Make moves and print the state that results");
  AddDomainOption(apply, args.domain);
  apply.add_option("--state", args.state, "The state before")->required()->type_name("STATE");
  apply.add_option("--moves", args.moves, "Separated by spaces")->required()->type_name("MOVES");
  apply.footer(
      "The state is all that is printed. A move that does not apply leaves it as it is.\n\n"
      "  tandem apply npuzzle:3 --state \"1 2 3 4 5 6 7 8 0\" --moves \"D R\"");
}

void AddCheckDomain(CLI::App& app, std::string& domain) {
  CLI::App& check = *app.add_subcommand("check-domain",
                                        "Check whether a puzzle keeps what every puzzle promises");
  AddDomainOption(check, domain);
  check.footer(
      "What is wrong is told with a state and an action that show it. Exit code 0: all is well.\n\n"
      "  tandem check-domain cube3\n"
      "  tandem check-domain pancake --plugin build/libpancake.so");
}

}  // namespace

void AddPuzzleCommands(CLI::App& app, Arguments& arguments) {
  AddDomains(app, arguments.domains);
  AddShow(app, arguments.show);
  AddApply(app, arguments.apply);
  AddPlay(app, arguments.play);
  AddCheckDomain(app, arguments.check_domain);
}

}  // namespace tandem
