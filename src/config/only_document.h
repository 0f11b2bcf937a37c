// The YAML document that a text holds.
#pragma once

#include <yaml-cpp/node/node.h>

#include <string>

namespace tandem {

/// The only document of a YAML text; null if there is none. Throws InputError that names `file` and
/// the line where a second one begins, which YAML allows and of which a reader would see nothing,
/// or where a NUL byte stands; and YAML::Exception if the text is no YAML.
YAML::Node OnlyDocument(const std::string& yaml, const std::string& file);

}  // namespace tandem
