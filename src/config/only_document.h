// Parses a YAML text that must hold one document.
#pragma once

#include <yaml-cpp/node/node.h>

#include <string>

namespace tandem {

/// Returns the only document of a YAML text, or a null node if there is none. Throws InputError
/// that names `file` and the line if a second document begins there (YAML::Load would silently
/// ignore it) or if the line has a NUL byte. Throws YAML::Exception if the text is not YAML.
YAML::Node OnlyDocument(const std::string& yaml, const std::string& file);

}  // namespace tandem
