#include "config/domain_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// The last `domain.name` of all; the reader finds fault with what is no word.
std::optional<Override> FindDomainName(const YAML::Node& document, const std::string& file,
                                       const std::vector<Override>& overrides) {
  const auto named = [](const Override& override) { return override.key == "domain.name"; };
  const auto last = std::find_if(overrides.rbegin(), overrides.rend(), named);
  if (last != overrides.rend()) return *last;
  if (!document.IsMap()) return std::nullopt;
  const YAML::Node section = document["domain"];
  if (!section || !section.IsMap()) return std::nullopt;
  for (const auto& entry : section) {
    if (entry.first.Scalar() != "name" || !entry.second.IsScalar()) continue;
    return Override{"domain.name", entry.second.Scalar(),
                    fmt::format("{}:{}", file, entry.first.Mark().line + 1)};
  }
  return std::nullopt;
}

[[noreturn]] void UnknownDomain(const Override& chosen) {
  const std::vector<std::string> known = DomainNames();
  const std::size_t colon = chosen.value.find(':');
  const std::string bare_name = chosen.value.substr(0, colon);
  const DomainParameter* parameter = ParameterOf(bare_name);
  std::string hint;
  if (parameter != nullptr) {  // NAME:ARGUMENT is for the command line
    hint = fmt::format("; did you mean {}, with domain.{} {}?", bare_name, parameter->key,
                       chosen.value.substr(colon + 1));
  } else if (const std::string_view nearest = Nearest(bare_name, known); !nearest.empty()) {
    hint = fmt::format("; did you mean {}? One of a plug-in's needs --plugin FILE", nearest);
  } else {
    hint = "; one of a plug-in's needs --plugin FILE";
  }
  throw InputError(fmt::format("`domain.name: {}` ({}): expected one of {}{}", chosen.value,
                               chosen.origin, fmt::join(known, ", "), hint));
}

}  // namespace

DomainConfig ChooseDomain(const YAML::Node& document, const std::string& file,
                          const std::vector<Override>& overrides) {
  DomainConfig domain;
  if (const auto chosen = FindDomainName(document, file, overrides)) {
    domain.name = chosen->value;
    if (std::ranges::count(DomainNames(), domain.name) == 0) UnknownDomain(*chosen);
  }
  const DomainParameter* parameter = ParameterOf(domain.name);
  if (parameter != nullptr) domain.argument = parameter->default_value;
  return domain;
}

}  // namespace tandem
