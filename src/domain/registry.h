// Finds puzzles by their names, loads plug-ins with more of them, and compares puzzles.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// Loads a shared library and adds its domains to the registry. It stays loaded until the program
/// ends. Returns the names of its domains. Does nothing else if the file is loaded already. Throws
/// InputError that names the file if it cannot be loaded, if it was built for another
/// TANDEM_INTERFACE_VERSION or TANDEM_STANDARD_LIBRARY (none of its code has run in this case), if
/// it registers no domain, or if a name is already registered. Call it from one thread, before
/// domains are made.
std::vector<std::string> LoadPlugin(const std::filesystem::path& file);

/// Returns the files of all plug-ins that are loaded.
std::vector<std::filesystem::path> LoadedPlugins();

/// Runs a short CheckDomain if the domain comes from a plug-in, so that no run learns from the
/// examples of a faulty puzzle. Throws Error that names the first broken promise.
void CheckPluginDomain(const Domain& domain);

/// Whether two values of DomainSpec::identity() denote the same puzzle, so that networks and
/// examples of one suit the other. If a puzzle's rules come from a file, the rules decide and the
/// path of the file may differ.
bool IsSameDomain(std::string_view a, std::string_view b);

/// Returns "made for cube3, expected cube3_htm", or, if only the rules differ, "made for
/// permutation:my.yaml with other rules (moves, costs or goal)". Both arguments are values of
/// DomainSpec::identity(). Requires that IsSameDomain is false for them.
std::string DescribeOtherDomain(std::string_view there, std::string_view expected);

/// Opens a shared library as dlopen(file, flags) does, and returns its handle, or null if that
/// fails; dlerror() then says why. Loading runs the initialisers of the library's global variables,
/// and what they throw cannot leave dlopen. If one throws, the process ends with `exit_code` and
/// prints "tandem: ", `what` and the exception's message. One thread may call this at a time.
void* OpenLibrary(const char* file, int flags, const std::string& what, int exit_code);

}  // namespace tandem
