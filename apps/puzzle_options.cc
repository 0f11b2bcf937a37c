#include <CLI/CLI.hpp>
#include <utility>

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

void AddConvert(CLI::App& app, ConvertArgs& args) {
  const CLI::IsMember formats({"facelets", "deepcubea", "deepxube"});
  CLI::App& convert =
      *app.add_subcommand("convert", "Rewrite states of cube3 from or for other programs");
  convert.add_option("state", args.state, "A state")->type_name("STATE");
  convert.add_option("--states", args.states, "States instead: one a line, or JSON lines")
      ->type_name("FILE");
  for (const auto& [name, value] : {std::pair{"--from", &args.from}, {"--to", &args.to}}) {
    convert.add_option(name, *value, "facelets, deepcubea or deepxube")
        ->type_name("FORMAT")
        ->check(formats)
        ->capture_default_str();
  }
  convert.add_option("--out", args.out, "Write there (standard output)")->type_name("FILE");
  convert.footer(
      "facelets are Tandem's own, 54 letters; deepcubea the numbers of 54 stickers, 0 to 53; \n"
      "deepxube 54 colours, 0 to 5. These number the faces U D L R B F, and the stickers of each\n"
      "column by column from the bottom.\n\n"
      "  tandem convert --to deepcubea UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB\n"
      "  tandem convert --from deepxube --states theirs.jsonl --out ours.jsonl");
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
  AddConvert(app, arguments.convert);
  AddCheckDomain(app, arguments.check_domain);
}

}  // namespace tandem
