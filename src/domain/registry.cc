#include "tandem/registry.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::map<std::string, DomainFactory, std::less<>>& Registry() {
  static std::map<std::string, DomainFactory, std::less<>> registry;
  return registry;
}

}  // namespace

void RegisterDomain(std::string name, DomainFactory factory) {
  const auto [at, is_new] = Registry().emplace(std::move(name), std::move(factory));
  if (!is_new) throw Error(fmt::format("two domains are registered as '{}'", at->first));
}

std::vector<std::string> DomainNames() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : Registry()) names.push_back(name);
  return names;
}

std::unique_ptr<const Domain> MakeDomain(std::string_view name) {
  const auto found = Registry().find(name);
  if (found != Registry().end()) return found->second();
  const std::vector<std::string> names = DomainNames();
  const std::string_view nearest = Nearest(name, names);
  throw InputError(fmt::format("no domain is called '{}'{}; known: {}", name,
                               nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                               fmt::join(names, ", ")));
}

}  // namespace tandem
