#include "domain/registry.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "tandem/check_domain.h"
#include "tandem/error.h"
#include "tandem/registry.h"

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

// A file's name may contain '@', which the version of a puzzle from a file does not.
std::string_view NameIn(std::string_view identity) {
  const bool is_from_file = ReadsFile(identity.substr(0, identity.find(':')));
  return identity.substr(0, is_from_file ? identity.rfind('@') : identity.find('@'));
}

// The parts of an identity: for example "permutation", "my.yaml" and the version. The last two may
// be empty.
struct Identity {
  std::string_view kind, argument, version;
};

Identity PartsOf(std::string_view identity) {
  const std::string_view name = NameIn(identity);
  const std::size_t colon = std::min(name.find(':'), name.size());
  return {.kind = name.substr(0, colon),
          .argument = name.substr(std::min(colon + 1, name.size())),
          .version = identity.substr(name.size())};
}

bool IsFromFile(const Identity& identity) {
  return !identity.version.empty() && ReadsFile(identity.kind);
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

const std::string* failed_what = nullptr;  // of the library that is being opened
int failed_code = EXIT_FAILURE;

std::string MessageOfCurrentException() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {  // has no message
  }
  return "unknown exception";
}

[[noreturn]] void ExitWithMessage() {
  std::fprintf(stderr, "tandem: %s%s\n", failed_what->c_str(), MessageOfCurrentException().c_str());
  std::_Exit(failed_code);
}

// dlopen is declared not to throw, so a compiler may let what it throws pass through a function
// that is noexcept. A volatile pointer hides the declaration: exceptions end here, in the terminate
// handler.
void* Open(const char* file, int flags) noexcept {
  void* (*const volatile open)(const char*, int) = ::dlopen;
  return open(file, flags);
}

// The properties that a plug-in and the program must share. kInterfaceMark contains them.
struct Interface {
  std::string_view version;           // version of the public headers; "" if the file has no mark
  std::string_view standard_library;  // the standard library and its settings
};

Interface InterfaceIn(std::string_view content) {
  const std::string_view mark(kInterfaceMark.data());
  const std::string_view begin = mark.substr(0, mark.find(TANDEM_INTERFACE_VERSION));
  const std::size_t at = content.find(begin);
  if (at == std::string_view::npos) return {};
  std::string_view rest = content.substr(at + begin.size());
  rest = rest.substr(0, rest.find(';'));
  const std::size_t comma = std::min(rest.find(", "), rest.size());
  return {.version = rest.substr(0, comma),
          .standard_library = rest.substr(std::min(comma + 2, rest.size()))};
}

void CheckInterface(const std::filesystem::path& file) {
  const std::string content = ReadFile(file);
  const Interface found = InterfaceIn(content);
  const Interface own = InterfaceIn(kInterfaceMark.data());
  const auto fail = [&](const std::string& why) {
    throw InputError(fmt::format("{} {}", file.string(), why));
  };
  if (!content.starts_with("\x7f"
                           "ELF")) {
    fail("is not a plug-in: expected a shared library (.so)");
  }
  if (found.version.empty()) {
    fail("is not a plug-in, or is damaged: it registers no puzzle with tandem/registry.h");
  }
  if (found.version != own.version) {
    fail(
        fmt::format("was built for version {} of the plug-in interface, but this program has "
                    "version {}. Build the plug-in again with this version of Tandem",
                    found.version, own.version));
  }
  if (found.standard_library != own.standard_library) {
    fail(
        fmt::format("was built for another standard library than this program: found {}; expected "
                    "{}. Build the plug-in again with the compiler options of this Tandem",
                    found.standard_library, own.standard_library));
  }
}

// The file that each domain of a plug-in came from, by the domain's name.
std::map<std::string, std::filesystem::path, std::less<>>& PluginFiles() {
  static std::map<std::string, std::filesystem::path, std::less<>> files;
  return files;
}

// Loads the library and returns why that failed, or "". The absolute path keeps dlopen from
// searching the system's folders. The library is never closed, because the registry refers to its
// code.
std::string TryToOpen(const std::filesystem::path& file) {
  constexpr int kExitCode = 2;  // as after an InputError
  const std::string what = fmt::format("the plug-in {} cannot be loaded: ", file.string());
  void* const library =
      OpenLibrary(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL, what, kExitCode);
  return library != nullptr ? "" : ::dlerror();
}

// Returns the names of the domains that came from the file.
std::vector<std::string> DomainsOf(const std::filesystem::path& file) {
  std::vector<std::string> names;
  for (const auto& [name, from] : PluginFiles()) {
    std::error_code ignored;
    if (std::filesystem::equivalent(from, file, ignored)) names.push_back(name);
  }
  return names;
}

}  // namespace

std::optional<int> ParseWholeNumber(std::string_view text, int least, int most) {
  const std::optional<int> number = ParseNumber<int>(text);
  if (!number || text.starts_with('0') || *number < least || *number > most) return std::nullopt;
  return number;
}

std::optional<BoardShape> ParseBoardShape(std::string_view text, int least, int most) {
  const std::size_t x = text.find('x');
  const std::optional<int> rows = ParseWholeNumber(text.substr(0, x), least, most);
  const std::optional<int> columns =
      x == std::string_view::npos ? rows : ParseWholeNumber(text.substr(x + 1), least, most);
  if (!rows || !columns) return std::nullopt;
  if (x != std::string_view::npos && *rows == *columns) return std::nullopt;  // "4", not "4x4"
  return BoardShape{.rows = *rows, .columns = *columns};
}

std::string FormatBoardShape(BoardShape shape) {
  const std::string rows = std::to_string(shape.rows);
  return shape.rows == shape.columns ? rows : rows + "x" + std::to_string(shape.columns);
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

bool IsSameDomain(std::string_view a, std::string_view b) {
  const Identity one = PartsOf(a);
  const Identity other = PartsOf(b);
  return one.kind == other.kind && one.version == other.version &&
         (one.argument == other.argument || IsFromFile(one));
}

std::string DescribeOtherDomain(std::string_view there, std::string_view expected) {
  const Identity one = PartsOf(there);
  const Identity other = PartsOf(expected);
  if (one.kind == other.kind && FileName(one.argument) == FileName(other.argument)) {
    return fmt::format("made for {} with other rules (moves, costs or goal)", NameIn(there));
  }
  return fmt::format("made for {}, expected {}", NameIn(there), NameIn(expected));
}

void* OpenLibrary(const char* file, int flags, const std::string& what, int exit_code) {
  failed_what = &what;
  failed_code = exit_code;
  const std::terminate_handler usual = std::set_terminate(ExitWithMessage);
  void* const library = Open(file, flags);
  std::set_terminate(usual);
  return library;
}

std::vector<std::string> LoadPlugin(const std::filesystem::path& file) {
  CheckInterface(file);
  if (std::vector<std::string> loaded = DomainsOf(file); !loaded.empty()) return loaded;
  const std::vector<std::string> before = DomainNames();
  std::vector<std::string> refused;
  refusals = &refused;
  const std::string error = TryToOpen(file);
  refusals = nullptr;
  if (!error.empty()) throw InputError(fmt::format("the plug-in cannot be loaded: {}", error));
  if (!refused.empty()) throw InputError(fmt::format("{}: {}", file.string(), refused.front()));
  std::vector<std::string> added;
  std::ranges::set_difference(DomainNames(), before, std::back_inserter(added));
  if (added.empty()) {
    throw InputError(fmt::format(
        "{} registers no puzzle; register a struct with TANDEM_REGISTER_PUZZLE, or a Domain with "
        "TANDEM_REGISTER_DOMAIN",
        file.string()));
  }
  for (const std::string& name : added) PluginFiles()[name] = std::filesystem::absolute(file);
  return added;
}

std::vector<std::filesystem::path> LoadedPlugins() {
  std::set<std::filesystem::path> files;  // a file may have several puzzles
  for (const auto& [name, file] : PluginFiles()) files.insert(file);
  return {files.begin(), files.end()};
}

void CheckPluginDomain(const Domain& domain) {
  const std::string& full_name = domain.spec().name;
  const auto found = PluginFiles().find(full_name.substr(0, full_name.find(':')));
  if (found == PluginFiles().end()) return;
  for (const DomainCheck& check : CheckDomain(domain, {.states = 60, .workers = 2})) {
    if (check.broken.empty()) continue;
    throw Error(fmt::format(
        "puzzle '{0}' of {1} breaks a promise: {2}: {3}. Correct the puzzle; `tandem check-domain "
        "{0} --plugin {1}` checks every promise",
        full_name, found->second.string(), check.promise, check.broken));
  }
}

}  // namespace tandem
