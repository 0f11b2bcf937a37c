// The registry of domains by name. A domain registers itself with one line at namespace scope:
//
//     TANDEM_REGISTER_DOMAIN(cube3, [] { return std::make_unique<Cube3>(); });
//
// or, if it has a parameter:
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

// Every library that registers a domain contains kInterfaceMark as text. Tandem reads it from the
// file of a plug-in, and rejects one that was built for another version of the headers or another
// standard library before any of its code runs.
[[gnu::used]] inline constexpr auto kInterfaceMark = std::to_array(
    "tandem plug-in interface " TANDEM_INTERFACE_VERSION ", " TANDEM_STANDARD_LIBRARY ";");

/// DomainParameter describes the parameter of a domain. A config sets it with
/// `domain: {name: npuzzle, size: 4}`, the command line with `npuzzle:4`. A domain has at most one.
struct DomainParameter {
  std::string key;            ///< name in a config: "size"
  std::string meaning;        ///< one line for people
  std::string expected;       ///< valid arguments: "a whole number from 3 to 7"
  std::string default_value;  ///< the argument if none is given
  bool is_file = false;       ///< the argument may be the path of a file that has the rules
  bool has_pieces = false;    ///< the argument may end with ":pieces", which a config sets with
                              ///< `input: pieces`: the network then reads pieces
};

/// Creates a domain. Its spec().name must be the registered name.
using DomainFactory = std::function<std::unique_ptr<const Domain>()>;

/// Creates a domain from an argument. Its spec().name must be NAME:ARGUMENT, or NAME if the
/// argument does not make it a different puzzle. Returns null if the argument does not match
/// DomainParameter::expected. May throw InputError to say more.
using ParameterisedFactory =
    std::function<std::unique_ptr<const Domain>(const std::string& argument)>;

/// Parses a number between `least` and `most`, for factories whose argument is a size. Returns
/// nothing if `text` is anything else or has a leading 0.
std::optional<int> ParseWholeNumber(std::string_view text, int least, int most);

/// Parses the shape of a board: the cells along each side of a square, such as "4", or rows and
/// columns that differ, such as "3x5". Returns nothing if `text` is anything else, or if a side is
/// not between `least` and `most`.
std::optional<BoardShape> ParseBoardShape(std::string_view text, int least, int most);

/// The text of a shape: "4" if it is square, otherwise "3x5".
std::string FormatBoardShape(BoardShape shape);

/// Registers a factory under `name`. Call it from one thread, either before main or while a plug-in
/// is loaded. Throws Error if the name is taken, is empty or has a ':'; if a plug-in is being
/// loaded, the plug-in is refused instead.
void RegisterDomain(std::string name, DomainFactory factory);
void RegisterDomain(std::string name, DomainParameter parameter, ParameterisedFactory factory);

/// The registered names, sorted.
std::vector<std::string> DomainNames();

/// The parameter of the domain `name`; null if it has none or if there is no such domain.
const DomainParameter* ParameterOf(std::string_view name);

/// Whether the domain `name` has a parameter that is a file (DomainParameter::is_file).
bool ReadsFile(std::string_view name);

/// Whether the domain `name` can be created with this argument. Requires that it has a parameter.
/// Throws whatever its factory throws.
bool AcceptsArgument(std::string_view name, const std::string& argument);

/// Returns the name of a domain that can be created with this argument, for suggestions:
/// "permutation" for "cube4". Nothing if there is none.
std::optional<std::string> DomainThatAccepts(const std::string& argument);

/// Creates a domain from NAME or NAME:ARGUMENT. Throws InputError if the name is unknown (the
/// message lists the known names and suggests the nearest) or the argument is invalid (it says what
/// was expected). Throws Error if the factory breaks its contract.
std::unique_ptr<const Domain> MakeDomain(std::string_view name);

}  // namespace tandem

/// Registers the domain when the program starts or when the plug-in is loaded.
#define TANDEM_REGISTER_DOMAIN(name, ...)           \
  static const bool tandem_registered_##name = [] { \
    ::tandem::RegisterDomain(#name, __VA_ARGS__);   \
    return true;                                    \
  }()
