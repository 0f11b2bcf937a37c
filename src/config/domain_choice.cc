#include "config/domain_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Returns the `domain.name` that wins: the last override, or else the document's. Values that are
// not scalars are skipped here; the reader reports them.
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
  if (parameter != nullptr) {  // NAME:ARGUMENT works only on the command line
    hint = fmt::format(". Did you mean {} with `domain.{}: {}`?", bare_name, parameter->key,
                       chosen.value.substr(colon + 1));
  } else if (const std::string_view nearest = Nearest(bare_name, known); !nearest.empty()) {
    hint =
        fmt::format(". Did you mean {}? For a puzzle from a plug-in, add --plugin FILE.", nearest);
  } else {
    hint = ". For a puzzle from a plug-in, add --plugin FILE.";
  }
  throw InputError(fmt::format("{}: `domain.name` is '{}', expected one of {}{}", chosen.origin,
                               chosen.value, fmt::join(known, ", "), hint));
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
