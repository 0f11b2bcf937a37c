// Writes configs as YAML.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace tandem {

/// Returns YAML that sets every key. ParseConfig reads it back to an equal config, also if a path
/// has bytes that are not UTF-8. Throws InputError if such a path also has line breaks.
std::string ToYaml(const Config& config);

/// Returns a config in which every key has its default, as YAML that ParseConfig reads. Comments
/// say what each key means, which values it accepts, and which keys to try first. Keys that only
/// some puzzles have are commented out.
std::string ConfigReference();

/// Returns a short config for a user to edit, as YAML that ParseConfig reads back to an equal
/// config. It begins with `introduction` as a comment, and has the keys to try
/// first, those of the puzzle, and those whose values differ from the defaults. Comments say what
/// each key means and which values it accepts.
std::string StarterConfig(Config config, std::string_view introduction);

}  // namespace tandem
