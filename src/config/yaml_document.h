// The YAML text of a config.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>

namespace tandem {

/// Most bytes of a config. It is far more than a config needs; the parser takes some hundred bytes
/// of memory for each value.
inline constexpr std::int64_t kMostConfigBytes = std::int64_t{1} << 20;

/// Returns the only document of a YAML text, or a null node if there is none. Throws InputError
/// that names `file` if the text is too long, and also the line if it has a NUL byte or begins a
/// second document, which YAML::Load would silently ignore. Throws YAML::Exception if the text is
/// not YAML.
YAML::Node OnlyDocument(const std::string& yaml, const std::string& file);

/// Returns the line of `error` and why `yaml` is not YAML, for a message: "3: not valid YAML: ...".
/// The text says so if the line is indented with tabs, which YAML does not allow.
std::string DescribeYamlError(const std::string& yaml, const YAML::Exception& error);

}  // namespace tandem
