#include "tandem/registry.h"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "base/text.h"
#include "domain/plugin.h"
#include "tandem/error.h"

namespace tandem {
namespace {

struct Entry {
  std::optional<DomainParameter> parameter;
  ParameterisedFactory make;  // its argument is "" if there is no parameter
};

using Entries = std::map<std::string, Entry, std::less<>>;

Entries& Registry() {
  static Entries registry;
  return registry;
}

// While a plug-in is loaded, Register adds its errors to this list instead of throwing, because an
// exception cannot pass through the dynamic loader.
std::vector<std::string>* refusals = nullptr;

void Refuse(std::string message) {
  if (refusals == nullptr) throw Error(message);
  refusals->push_back(std::move(message));
}

void Register(std::string name, Entry entry) {
  if (name.empty() || name.find(':') != std::string::npos) {
    return Refuse(fmt::format(
        "a domain is registered as '{}', expected a name of letters, digits and '_'", name));
  }
  const auto [at, is_new] = Registry().emplace(std::move(name), std::move(entry));
  if (!is_new) Refuse(fmt::format("two domains are registered as '{}'", at->first));
}

const Entry& Find(std::string_view name) {
  const auto found = Registry().find(name);
  if (found != Registry().end()) return found->second;
  const std::vector<std::string> names = DomainNames();
  const auto with_argument = DomainThatAccepts(std::string(name));
  const std::string nearest = with_argument ? fmt::format("{}:{}", *with_argument, name)
                                            : std::string(Nearest(name, names));
  throw InputError(fmt::format(
      "no domain is called '{}'{}; known: {}; a plug-in's domain needs --plugin FILE, and "
      "one in Python tandem.register_domain",
      name, nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
      fmt::join(names, ", ")));
}

// Calls the factory. Errors of Tandem's own types pass unchanged; others get the domain's name.
std::unique_ptr<const Domain> CallFactory(std::string_view name, const Entry& entry,
                                          const std::string& argument) {
  try {
    return entry.make(argument);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(fmt::format("domain '{}' cannot be made: {}", name, error.what()));
  } catch (...) {
    throw Error(fmt::format(
        "domain '{}' cannot be made: unknown exception (not derived from std::exception)", name));
  }
}

// Checks the name in the spec. Checkpoints and shards store this name, and the domain is created
// again from it.
void CheckName(const DomainSpec& spec, std::string_view name, const std::string& argument) {
  const std::string full_name =
      argument.empty() ? std::string(name) : fmt::format("{}:{}", name, argument);
  if (spec.name == name || spec.name == full_name) return;
  throw Error(fmt::format("domain '{}': its spec has the name '{}', expected '{}'", name, spec.name,
                          full_name));
}

std::unique_ptr<const Domain> Make(std::string_view name, const Entry& entry,
                                   const std::string& argument) {
  std::unique_ptr<const Domain> domain = CallFactory(name, entry, argument);
  if (domain == nullptr && !entry.parameter) {
    throw Error(fmt::format("domain '{}': its factory returned null, expected a domain", name));
  }
  if (domain == nullptr) {
    throw InputError(fmt::format("{}: {} is {}, expected {}", name, entry.parameter->key,
                                 argument.empty() ? "empty" : argument, entry.parameter->expected));
  }
  CheckName(domain->spec(), name, argument);
  return domain;
}

}  // namespace

std::vector<std::string> RefusedRegistrations(const std::function<void()>& load) {
  std::vector<std::string> refused;
  refusals = &refused;
  load();
  refusals = nullptr;
  return refused;
}

std::optional<int> ParseWholeNumber(std::string_view text, int least, int most) {
  const std::optional<int> number = ParseNumber<int>(text);
  if (!number || text.starts_with('0') || *number < least || *number > most) return std::nullopt;
  return number;
}

void RegisterDomain(std::string name, DomainFactory factory) {
  Register(std::move(name),
           {.parameter = std::nullopt,
            .make = [factory = std::move(factory)](const std::string&) { return factory(); }});
}

void RegisterDomain(std::string name, DomainParameter parameter, ParameterisedFactory factory) {
  Register(std::move(name), {.parameter = std::move(parameter), .make = std::move(factory)});
}

std::vector<std::string> DomainNames() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : Registry()) names.push_back(name);
  return names;
}

const DomainParameter* ParameterOf(std::string_view name) {
  const auto found = Registry().find(name);
  if (found == Registry().end() || !found->second.parameter) return nullptr;
  return &*found->second.parameter;
}

bool ReadsFile(std::string_view name) {
  const DomainParameter* parameter = ParameterOf(name);
  return parameter != nullptr && parameter->is_file;
}

bool AcceptsArgument(std::string_view name, const std::string& argument) {
  return Find(name).make(argument) != nullptr;
}

std::optional<std::string> DomainThatAccepts(const std::string& argument) {
  for (const auto& [name, entry] : Registry()) {
    try {
      if (entry.parameter && entry.make(argument) != nullptr) return name;
    } catch (...) {
      // The domain says why it does not accept the argument, which only its users want to know.
    }
  }
  return std::nullopt;
}

std::unique_ptr<const Domain> MakeDomain(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view bare_name = name.substr(0, colon);
  const Entry& entry = Find(bare_name);
  if (colon == std::string_view::npos) {
    return Make(name, entry, entry.parameter ? entry.parameter->default_value : "");
  }
  if (entry.parameter) return Make(bare_name, entry, std::string(name.substr(colon + 1)));
  throw InputError(fmt::format("'{}': {} has no parameter; use '{}'", name, bare_name, bare_name));
}

}  // namespace tandem
