// Domains from shared libraries that others have built.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// Loads a shared library whose domains then are in the registry, for as long as the program runs.
/// Returns their names. Throws InputError that names the file if it cannot be loaded, was built for
/// another TANDEM_INTERFACE_VERSION or TANDEM_STANDARD_LIBRARY (in which case none of its code has
/// run), registers no domain or a name that is taken. Call from one thread, before domains are
/// made.
std::vector<std::string> LoadPlugin(const std::filesystem::path& file);

/// Runs a short CheckDomain if the domain comes from a plug-in. Throws Error that names the first
/// broken promise. A run of such a puzzle would learn from wrong examples.
void CheckPluginDomain(const Domain& domain);

/// What RegisterDomain refused while `load`, which must not throw, ran.
std::vector<std::string> RefusedRegistrations(const std::function<void()>& load);

}  // namespace tandem
