// The subcommands about puzzles that need no network: domains, show, apply, check-domain
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "apps/command_line.h"
#include "apps/output.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/text.h"
#include "domain/moves.h"
#include "tandem/check_domain.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

struct PuzzleArgs {
  StartArgs start;
  std::string moves;
  std::string svg;  // file to write; "": none
  bool json = false;
};

std::string BareName(const DomainSpec& spec) { return spec.name.substr(0, spec.name.find(':')); }

void PrintFacts(const Domain& domain) {
  const DomainSpec& spec = domain.spec();
  const std::vector<std::uint8_t> goal = GoalOf(domain);
  fmt::print("{}: {}\n\n", spec.name, spec.summary);
  if (const DomainParameter* parameter = ParameterOf(BareName(spec)); parameter != nullptr) {
    fmt::print("  {:<8}  {}: {} (default {})\n", parameter->key, parameter->meaning,
               parameter->expected, parameter->default_value);
  }
  fmt::print("  state     {} bytes\n", spec.state_size);
  fmt::print("  network   reads {} values of {} kinds each, one-hot: {} features\n",
             spec.input.positions, spec.input.depth, spec.input.positions * spec.input.depth);
  fmt::print("  actions   {}: {}\n", spec.num_actions(), fmt::join(spec.action_names, " "));
  const auto [least, most] = std::ranges::minmax(spec.action_costs);
  if (least == most) {
    fmt::print("  cost      {:g} per action\n", least);
  } else {
    fmt::print("  cost      {:g}, in the order of the actions\n",
               fmt::join(spec.action_costs, " "));
  }
  if (spec.masks_actions) fmt::print("            not every action applies in every state\n");
  if (spec.inverse_actions.empty()) fmt::print("            not every action can be undone\n");
  fmt::print("  goal      {}\n\n", spec.per_problem_goals  ? "each problem has its own"
                                   : spec.multiline_states ? "for example"
                                                           : domain.FormatState(goal));
  fmt::print("{}", ToTerminal(domain.Draw(goal), UseColour(STDOUT_FILENO)));
}

std::string InCapitals(std::string word) {
  for (char& letter : word) {
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return word;
}

// Returns NAME, or NAME[:KEY] for a domain with a parameter.
std::string Usage(const std::string& name) {
  const DomainParameter* parameter = ParameterOf(name);
  return parameter == nullptr ? name : fmt::format("{}[:{}]", name, InCapitals(parameter->key));
}

// Returns a line about the domain `name` for the list of all. The summary of a domain that reads a
// file is that of its default puzzle only.
std::string SummaryOf(const std::string& name) {
  if (!ReadsFile(name)) return MakeDomain(name)->spec().summary;
  return "your own puzzle: " + ParameterOf(name)->meaning;
}

void PrintAll() {
  std::size_t width = 0;
  for (const std::string& name : DomainNames()) width = std::max(width, Usage(name).size());
  for (const std::string& name : DomainNames()) {
    fmt::print("{:<{}}  {}\n", Usage(name), width, SummaryOf(name));
    if (const DomainParameter* parameter = ParameterOf(name); parameter != nullptr) {
      fmt::print("{:<{}}  {}: {} (default {})\n", "", width, InCapitals(parameter->key),
                 parameter->expected, parameter->default_value);
    }
  }
  fmt::print("\n`tandem domains NAME` describes one puzzle.\n");
}

nlohmann::ordered_json JsonOf(const Domain& domain) {
  const DomainSpec& spec = domain.spec();
  const std::string name = BareName(spec);
  nlohmann::ordered_json json = {
      {"name", name}, {"full_name", spec.name}, {"summary", spec.summary}};
  if (const DomainParameter* parameter = ParameterOf(name); parameter != nullptr) {
    json["parameter"] = {{"key", parameter->key},
                         {"meaning", parameter->meaning},
                         {"expected", parameter->expected},
                         {"default", parameter->default_value}};
  }
  json.update({{"state_size", spec.state_size},
               {"input", {{"positions", spec.input.positions}, {"depth", spec.input.depth}}},
               {"actions", spec.action_names},
               {"inverse_actions", spec.inverse_actions},
               {"action_costs", spec.action_costs},
               {"masks_actions", spec.masks_actions},
               {"per_problem_goals", spec.per_problem_goals},
               {"moves_goals", spec.moves_goals},
               {"multiline_states", spec.multiline_states},
               {"goal", domain.FormatState(GoalOf(domain))}});
  return json;
}

nlohmann::ordered_json JsonOfAll() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string& name : DomainNames()) all.push_back(JsonOf(*MakeDomain(name)));
  return all;
}

int RunDomains(const PuzzleArgs& args) {
  if (args.json) {
    const auto json =
        args.start.domain.empty() ? JsonOfAll() : JsonOf(*MakeDomain(args.start.domain));
    fmt::print("{}\n", DumpJson(json, 2));
  } else if (args.start.domain.empty()) {
    PrintAll();
  } else {
    PrintFacts(*MakeDomain(args.start.domain));
  }
  return kDone;
}

// Prints a state in its notation, or as an object that also says whether it is solved.
void PrintState(const Domain& domain, const std::vector<std::uint8_t>& state, bool as_json) {
  const std::string text = domain.FormatState(state);
  const nlohmann::ordered_json json = {
      {"domain", domain.spec().name}, {"state", text}, {"solved", IsGoal(domain, state)}};
  fmt::print("{}\n", as_json ? DumpJson(json, 2) : text);
}

int RunShow(const PuzzleArgs& args) {
  CheckOutputs({{"--svg", args.svg}}, {PuzzleFile(args.start.domain)});
  const auto domain = MakeDomain(args.start.domain);
  const std::vector<std::uint8_t> state = StartState(*domain, args.start);
  const Picture picture = domain->Draw(state);
  if (!args.svg.empty()) WriteOutput(args.svg, ToSvg(picture));
  if (!args.json) fmt::print("{}\n", ToTerminal(picture, UseColour(STDOUT_FILENO)));
  PrintState(*domain, state, args.json);
  return kDone;
}

int RunApply(const PuzzleArgs& args) {
  const auto domain = MakeDomain(args.start.domain);
  std::vector<std::uint8_t> state = StartState(*domain, args.start);
  MakeMoves(*domain, args.moves, args.start.state, state);
  PrintState(*domain, state, args.json);
  return kDone;
}

bool IsKept(const DomainCheck& check) { return check.broken.empty(); }

void PrintChecks(const std::string& name, const std::vector<DomainCheck>& checks,
                 const std::optional<DomainRates>& rates) {
  for (const DomainCheck& check : checks) {
    fmt::print("{}  {}\n", IsKept(check) ? "ok   " : "WRONG", check.promise);
    if (!IsKept(check)) fmt::print("       {}\n", check.broken);
  }
  if (rates) {
    fmt::print("{:.3g} million actions per second on one core, {:.3g} million children expanded\n",
               rates->applied / 1e6, rates->expanded / 1e6);
  }
  fmt::print("{}: {} of {} promises kept\n", name, std::ranges::count_if(checks, IsKept),
             checks.size());
}

nlohmann::ordered_json JsonOf(const std::string& name, const std::vector<DomainCheck>& checks,
                              const std::optional<DomainRates>& rates) {
  nlohmann::ordered_json json = {{"domain", name}};
  for (const DomainCheck& check : checks) {
    nlohmann::ordered_json promise = {{"promise", check.promise}, {"kept", IsKept(check)}};
    if (!IsKept(check)) promise["broken"] = check.broken;
    json["promises"].push_back(std::move(promise));
  }
  if (rates) {
    json["actions_per_s"] = RoundedReal(rates->applied);
    json["children_per_s"] = RoundedReal(rates->expanded);
  }
  return json;
}

int RunCheckDomain(const PuzzleArgs& args) {
  const auto domain = MakeDomain(args.start.domain);
  const std::string& name = domain->spec().name;
  const std::vector<DomainCheck> checks = CheckDomain(*domain);
  const bool all_kept = std::ranges::all_of(checks, IsKept);
  std::optional<DomainRates> rates;
  if (all_kept) rates = MeasureDomain(*domain);
  if (args.json) {
    fmt::print("{}\n", DumpJson(JsonOf(name, checks, rates), 2));
  } else {
    PrintChecks(name, checks, rates);
  }
  return all_kept ? kDone : kFailed;
}

}  // namespace

void AddDomains(CommandLine& line) {
  const auto [domains, args] =
      AddCommand(line, "domains", "List the puzzles, or describe one", RunDomains);
  AddOption(domains, "name", args.start.domain, "NAME[:ARG]", "Puzzle, such as cube3 or npuzzle:4");
  domains.add_flag("--json", args.json, "Print JSON: an object, or an array of all puzzles");
}

void AddShow(CommandLine& line) {
  const auto [show, args] =
      AddCommand(line, "show", "Draw a state, in the terminal or as SVG", RunShow);
  AddStartOptions(show, args.start);
  AddOption(show, "--svg", args.svg, "FILE", "Also write the picture to FILE");
  show.add_flag("--json", args.json,
                "Print JSON instead of a picture: the state, and whether it is solved");
  show.footer(
      "The last line of the output is the state alone; some puzzles' states take several lines.\n\n"
      "  tandem show cube3 --scramble \"R U R' U'\" --svg cube.svg\n"
      "  tandem show sokoban --random 40");
}

void AddApply(CommandLine& line) {
  const auto [apply, args] =
      AddCommand(line, "apply", "Make moves and print the resulting state", RunApply);
  AddDomainOption(apply, args.start.domain);
  AddOption(apply, "--state", args.start.state, "STATE",
            "State before the moves (default: a goal)");
  AddOption(apply, "--moves", args.moves, "MOVES", "Moves, separated by spaces")->required();
  apply.add_flag("--json", args.json, "Print JSON: the state, and whether it is solved");
  apply.footer(
      "Prints only the state. A move that does not apply is an error.\n\n"
      "  tandem apply npuzzle:3 --state \"1 2 3 4 5 6 7 8 0\" --moves \"D R\"");
}

void AddCheckDomain(CommandLine& line) {
  const auto [check, args] =
      AddCommand(line, "check-domain",
                 "Check that a puzzle keeps the promises of the Domain interface", RunCheckDomain);
  AddDomainOption(check, args.start.domain);
  check.add_flag("--json", args.json, "Print JSON");
  check.footer(
      "A broken promise is reported with a state and an action that show it.\n"
      "Exit codes: 0 every promise kept; 1 some broken; 2 wrong usage or input.\n\n"
      "  tandem check-domain cube3\n"
      "  tandem check-domain pancake --plugin build/libpancake.so");
}

}  // namespace tandem
