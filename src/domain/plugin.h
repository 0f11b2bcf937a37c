// Loads domains from plug-ins: shared libraries that users have built.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
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

/// Runs `load`, which must not throw, and returns the error messages of the registrations that
/// RegisterDomain refused meanwhile.
std::vector<std::string> RefusedRegistrations(const std::function<void()>& load);

}  // namespace tandem
