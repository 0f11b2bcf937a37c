#include <CLI/CLI.hpp>
#include <utility>

#include "apps/option_parts.h"
#include "apps/options.h"

namespace tandem {
namespace {

void AddDomains(CLI::App& app, DomainsArgs& args) {
  CLI::App& domains = *app.add_subcommand("domains", "List the puzzles, or describe one");
  domains.add_option("name", args.name, "Puzzle, such as cube3 or npuzzle:4")
      ->type_name("NAME[:ARG]");
  domains.add_flag("--json", args.json, "Print JSON: an object, or an array of all puzzles");
}

void AddShow(CLI::App& app, ShowArgs& args) {
  CLI::App& show = *app.add_subcommand("show", "Draw a state, in the terminal or as SVG");
  AddStartOptions(show, args.start);
  show.add_option("--svg", args.svg, "Also write the picture to FILE")->type_name("FILE");
  show.footer(
      "The last line of the output is the state alone; some puzzles' states take several lines.\n\n"
      "  tandem show cube3 --scramble \"R U R' U'\" --svg cube.svg\n"
      "  tandem show sokoban --random 40");
}

void AddPlay(CLI::App& app, PlayArgs& args) {
  CLI::App& play = *app.add_subcommand("play", "Play a puzzle, with hints from a network");
  AddStartOptions(play, args.start);
  AddModelOptions(play, args.model);
  play.footer(
      "Each input line is moves or a command; `help` lists the commands. With a network\n"
      "(--model), `hint` shows the estimated cost to the goal and the best move, and `solve`\n"
      "shows a solution.\n\n"
      "  tandem play npuzzle:4 --random 100\n"
      "  tandem play cube3 --model runs/my-run --scramble \"R U R' U'\"\n"
      "  printf 'R U\\nundo\\nstate\\n' | tandem play cube3");
}

void AddApply(CLI::App& app, ApplyArgs& args) {
  CLI::App& apply = *app.add_subcommand("apply", "Make moves and print the resulting state");
  AddDomainOption(apply, args.domain);
  apply.add_option("--state", args.state, "State before the moves")->required()->type_name("STATE");
  apply.add_option("--moves", args.moves, "Moves, separated by spaces")
      ->required()
      ->type_name("MOVES");
  apply.footer(
      "Prints only the state. A move that does not apply leaves the state unchanged.\n\n"
      "  tandem apply npuzzle:3 --state \"1 2 3 4 5 6 7 8 0\" --moves \"D R\"");
}

void AddConvert(CLI::App& app, ConvertArgs& args) {
  const CLI::IsMember formats({"facelets", "deepcubea", "deepxube"});
  CLI::App& convert = *app.add_subcommand(
      "convert", "Convert states of cube3 from and to the formats of other programs");
  convert.add_option("state", args.state, "State to convert")->type_name("STATE");
  convert
      .add_option("--states", args.states,
                  "Convert a file instead: one state per line, or JSON lines")
      ->type_name("FILE");
  for (const auto& [name, value] : {std::pair{"--from", &args.from}, {"--to", &args.to}}) {
    convert.add_option(name, *value, "facelets, deepcubea or deepxube")
        ->type_name("FORMAT")
        ->check(formats)
        ->capture_default_str();
  }
  convert.add_option("--out", args.out, "Write to FILE (default: standard output)")
      ->type_name("FILE");
  convert.footer(
      "facelets is Tandem's own format, 54 letters. deepcubea is the numbers of 54 stickers, 0 to\n"
      "53. deepxube is 54 colours, 0 to 5. The last two number the faces U D L R B F, and the\n"
      "stickers of each face column by column from the bottom.\n\n"
      "  tandem convert --to deepcubea UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB\n"
      "  tandem convert --from deepxube --states theirs.jsonl --out ours.jsonl");
}

void AddCheckDomain(CLI::App& app, std::string& domain) {
  CLI::App& check = *app.add_subcommand(
      "check-domain", "Check that a puzzle keeps the promises of the Domain interface");
  AddDomainOption(check, domain);
  check.footer(
      "A broken promise is reported with a state and an action that show it.\n"
      "Exit codes: 0 every promise kept; 1 some broken.\n\n"
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
