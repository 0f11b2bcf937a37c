// tandem check-domain NAME[:ARG]
#include "tandem/check_domain.h"

#include <fmt/format.h>

#include "apps/commands.h"
#include "tandem/registry.h"

namespace tandem {

int RunCheckDomain(const std::string& name) {
  const auto domain = MakeDomain(name);
  const std::vector<DomainCheck> checks = CheckDomain(*domain);
  std::size_t broken = 0;
  for (const DomainCheck& check : checks) {
    fmt::print("{}  {}\n", check.broken.empty() ? "ok   " : "WRONG", check.promise);
    if (check.broken.empty()) continue;
    fmt::print("       {}\n", check.broken);
    ++broken;
  }
  if (broken == 0) {
    const DomainRates rates = MeasureDomain(*domain);
    fmt::print("{:.1f} million actions per second on one core, {:.1f} million children expanded\n",
               rates.applied / 1e6, rates.expanded / 1e6);
  }
  fmt::print("{}: {} of {} promises kept\n", domain->spec().name, checks.size() - broken,
             checks.size());
  return broken == 0 ? kDone : kFailed;
}

}  // namespace tandem
