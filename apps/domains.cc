// tandem domains [NAME]
#include <fmt/format.h>

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
  fmt::print("  state     {} bytes\n", spec.state_size);
  fmt::print("  network   reads {} values of {} kinds, one-hot: {} features\n",
             spec.input.positions, spec.input.depth, spec.input.positions * spec.input.depth);
  fmt::print("  actions   {}, cost {:g} each: {}\n", spec.num_actions(), spec.action_cost,
             fmt::join(spec.action_names, " "));
  fmt::print("  goal      {}\n\n", domain.FormatState(goal));
  fmt::print("{}", domain.Draw(goal, UseColour(STDOUT_FILENO)));
}

}  // namespace

int RunDomains(const std::string& name) {
  if (!name.empty()) {
    PrintFacts(*MakeDomain(name));
    return kDone;
  }
  for (const std::string& known : DomainNames()) {
    fmt::print("{:<12} {}\n", known, MakeDomain(known)->spec().summary);
  }
  fmt::print("\n`tandem domains NAME` tells more of one.\n");
  return kDone;
}

}  // namespace tandem
