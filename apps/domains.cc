// tandem domains [NAME[:ARG]] [--json]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

#include "apps/commands.h"
#include "base/json.h"
#include "base/machine.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

std::string BareName(const DomainSpec& spec) { return spec.name.substr(0, spec.name.find(':')); }

std::vector<std::uint8_t> GoalOf(const Domain& domain) {
  std::vector<std::uint8_t> goal(static_cast<std::size_t>(domain.spec().state_size));
  domain.WriteGoals(Rows(std::span(goal)));
  return goal;
}

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
  for (char& letter : word) letter = static_cast<char>(std::toupper(letter));
  return word;
}

// Returns NAME, or NAME[:KEY] for a domain with a parameter.
std::string Usage(const std::string& name) {
  const DomainParameter* parameter = ParameterOf(name);
  return parameter == nullptr ? name : fmt::format("{}[:{}]", name, InCapitals(parameter->key));
}

void PrintAll() {
  std::size_t width = 0;
  for (const std::string& name : DomainNames()) width = std::max(width, Usage(name).size());
  for (const std::string& name : DomainNames()) {
    fmt::print("{:<{}}  {}\n", Usage(name), width, MakeDomain(name)->spec().summary);
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
               {"multiline_states", spec.multiline_states},
               {"goal", domain.FormatState(GoalOf(domain))}});
  return json;
}

nlohmann::ordered_json JsonOfAll() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string& name : DomainNames()) all.push_back(JsonOf(*MakeDomain(name)));
  return all;
}

}  // namespace

int RunDomains(const DomainsArgs& args) {
  if (args.json) {
    const auto json = args.name.empty() ? JsonOfAll() : JsonOf(*MakeDomain(args.name));
    fmt::print("{}\n", DumpJson(json, 2));
  } else if (args.name.empty()) {
    PrintAll();
  } else {
    PrintFacts(*MakeDomain(args.name));
  }
  return kDone;
}

}  // namespace tandem
