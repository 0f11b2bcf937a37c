#include "config/network_kinds.h"

#include <algorithm>
#include <utility>

#include "config/choices.h"

namespace tandem {
namespace {

std::vector<std::string>& AddedNames() {
  static std::vector<std::string> names;
  return names;
}

}  // namespace

std::vector<std::string> NetworkKindNames() {
  std::vector<std::string> names;
  names.reserve(kNetworkKinds.size() + AddedNames().size());
  for (const NetworkKindRow& kind : kNetworkKinds) names.emplace_back(kind.name);
  names.insert(names.end(), AddedNames().begin(), AddedNames().end());
  return names;
}

bool IsNetworkKind(std::string_view name) {
  return std::ranges::count(NetworkKindNames(), name) > 0;
}

void AddNetworkKindName(std::string name) {
  if (!IsNetworkKind(name)) AddedNames().push_back(std::move(name));
}

}  // namespace tandem
