// Domains by name. A domain registers itself with one line at namespace scope:
//
//     TANDEM_REGISTER_DOMAIN(cube3, [] { return std::make_unique<Cube3>(); });
//
// or, where its user has a choice, with that parameter:
//
//     TANDEM_REGISTER_DOMAIN(npuzzle, DomainParameter{.key = "size", ...},
//                            [](const std::string& size) { ... });
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/domain.h"
#include "tandem/interface_version.h"

namespace tandem {

// `kInterfaceMark` stands as text in every library that registers a domain. A plug-in for another
// version of the headers, or built for another standard library, is so refused before any of its
// code runs.
[[gnu::used]] inline constexpr auto kInterfaceMark = std::to_array(
    "tandem plug-in interface " TANDEM_INTERFACE_VERSION ", " TANDEM_STANDARD_LIBRARY ";");

/// What a domain lets its user choose: `domain: {name: npuzzle, size: 4}` in a config, `npuzzle:4`
/// on the command line. A domain has at most one.
struct DomainParameter {
  std::string key;            ///< "size"
  std::string meaning;        ///< one line for people
  std::string expected;       ///< what an argument must be: "a whole number from 3 to 7"
  std::string default_value;  ///< the argument where none is given
};

/// Makes a domain whose spec().name is the name that it is registered by.
using DomainFactory = std::function<std::unique_ptr<const Domain>()>;

/// Makes a domain whose spec().name is NAME:ARGUMENT, or NAME if the argument changes nothing that
/// its users would call another puzzle. Returns null if the argument is not what
/// DomainParameter::expected says; may throw InputError where more is to be told.
using ParameterisedFactory =
    std::function<std::unique_ptr<const Domain>(const std::string& argument)>;

/// The number that `text` is, digits without a leading 0, if it is from `least` to `most`: for
/// factories whose argument is a size.
std::optional<int> ParseWholeNumber(std::string_view text, int least, int most);

/// Makes a factory known under `name`. Call before main, from one thread, or while a plug-in is
/// loaded. Throws Error if the name is taken.
void RegisterDomain(std::string name, DomainFactory factory);
void RegisterDomain(std::string name, DomainParameter parameter, ParameterisedFactory factory);

/// The registered names, sorted.
std::vector<std::string> DomainNames();

/// The parameter of the domain of that name; null if it has none, or if no domain has the name.
const DomainParameter* ParameterOf(std::string_view name);

/// Whether the domain of that name, which has a parameter, can be made with this argument. Throws
/// what its factory throws.
bool AcceptsArgument(std::string_view name, const std::string& argument);

/// Makes a domain from NAME or NAME:ARGUMENT. Throws InputError that lists the known names and the
/// nearest, or says what was expected of the argument; Error if the factory breaks its promise.
std::unique_ptr<const Domain> MakeDomain(std::string_view name);

}  // namespace tandem

/// Registers the domain when the program starts, or when the plug-in is loaded.
#define TANDEM_REGISTER_DOMAIN(name, ...)           \
  static const bool tandem_registered_##name = [] { \
    ::tandem::RegisterDomain(#name, __VA_ARGS__);   \
    return true;                                    \
  }()
