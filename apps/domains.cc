// tandem domains [NAME[:ARG]]
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "apps/commands.h"
#include "base/terminal.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

void PrintFacts(const Domain& domain) {
  const DomainSpec& spec = domain.spec();
  std::vector<std::uint8_t> goal(static_cast<std::size_t>(spec.state_size));
  domain.WriteGoals(Rows(std::span(goal)));
  fmt::print("{}: {}\n\n", spec.name, spec.summary);
  const std::string_view name = std::string_view(spec.name).substr(0, spec.name.find(':'));
  if (const DomainParameter* parameter = ParameterOf(name); parameter != nullptr) {
    fmt::print("  {:<8}  {}: {} (default {})\n", parameter->key, parameter->meaning,
               parameter->expected, parameter->default_value);
  }
  fmt::print("  state     {} bytes\n", spec.state_size);
  fmt::print("  network   reads {} values of {} kinds, one-hot: {} features\n",
             spec.input.positions, spec.input.depth, spec.input.positions * spec.input.depth);
  fmt::print("  actions   {}, cost {:g} each: {}\n", spec.num_actions(), spec.action_cost,
             fmt::join(spec.action_names, " "));
  if (spec.masks_actions) fmt::print("            not every action applies in every state\n");
  fmt::print("  goal      {}\n\n", domain.FormatState(goal));
  fmt::print("{}", domain.Draw(goal, UseColour(STDOUT_FILENO)));
}

// NAME, or NAME[:KEY] for a domain with a parameter.
std::string Usage(const std::string& name) {
  const DomainParameter* parameter = ParameterOf(name);
  if (parameter == nullptr) return name;
  std::string key = parameter->key;
  for (char& letter : key) letter = static_cast<char>(std::toupper(letter));
  return fmt::format("{}[:{}]", name, key);
}

void PrintAll() {
  std::size_t width = 0;
  for (const std::string& name : DomainNames()) width = std::max(width, Usage(name).size());
  for (const std::string& name : DomainNames()) {
    fmt::print("{:<{}}  {}\n", Usage(name), width, MakeDomain(name)->spec().summary);
  }
  fmt::print("\n`tandem domains NAME` tells more of one.\n");
}

}  // namespace

int RunDomains(const std::string& name) {
  if (name.empty()) {
    PrintAll();
  } else {
    PrintFacts(*MakeDomain(name));
  }
  return kDone;
}

}  // namespace tandem
