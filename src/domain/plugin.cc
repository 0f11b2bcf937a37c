#include "domain/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/library.h"
#include "tandem/check_domain.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

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
  if (!content.starts_with("\x7f"
                           "ELF")) {
    throw InputError(
        fmt::format("{} is not a plug-in: expected a shared library (.so)", file.string()));
  }
  if (found.version.empty()) {
    throw InputError(fmt::format(
        "{} is not a plug-in, or is damaged: it registers no puzzle with tandem/registry.h",
        file.string()));
  }
  if (found.version != own.version) {
    throw InputError(fmt::format(
        "{} was built for version {} of the plug-in interface, but this program has version {}. "
        "Build the plug-in again with this version of Tandem",
        file.string(), found.version, own.version));
  }
  if (found.standard_library != own.standard_library) {
    throw InputError(fmt::format(
        "{} was built for another standard library than this program: found {}; expected {}. Build "
        "the plug-in again with the compiler options of this Tandem",
        file.string(), found.standard_library, own.standard_library));
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

std::vector<std::string> LoadPlugin(const std::filesystem::path& file) {
  CheckInterface(file);
  if (std::vector<std::string> loaded = DomainsOf(file); !loaded.empty()) return loaded;
  const std::vector<std::string> before = DomainNames();
  std::string error;
  const std::vector<std::string> refused = RefusedRegistrations([&] { error = TryToOpen(file); });
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
