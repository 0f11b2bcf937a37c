// Reads configs from YAML and from the command line, and writes them as YAML.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace tandem {

/// `Override` is one `--set KEY=VALUE` of the command line, or an option that stands for one. If a
/// key is overridden twice, the later value wins.
struct Override {
  std::string key;
  std::string value;
  std::string origin;  ///< for messages: "--set train.batch_size=x"
};

/// Splits "KEY=VALUE" at the first '='. Throws InputError if there is none.
Override ParseOverride(std::string_view text);

/// Reads `path`, applies `overrides`, and checks the result. Throws InputError that names the file
/// and line (or the option), the key, the value found, the values expected and, for an unknown key,
/// the nearest known one.
Config LoadConfig(const std::filesystem::path& path, const std::vector<Override>& overrides = {});

/// Reads a config from YAML text, as LoadConfig does from a file. Messages call the file `name`.
Config ParseConfig(const std::string& yaml, const std::string& name,
                   const std::vector<Override>& overrides = {});

/// Returns YAML that sets every key. ParseConfig reads it back to an equal config.
std::string ToYaml(const Config& config);

/// Returns a config in which every key has its default, as YAML that ParseConfig reads. Comments
/// say what each key means, which values it accepts, and which keys to try first. Keys that only
/// some puzzles have are commented out.
std::string ConfigReference();

/// Returns a short config for a user to edit, as YAML that ParseConfig reads back to an equal
/// config, without phases. It begins with `introduction` as a comment, and has the keys to try
/// first, those of the puzzle, and those whose values differ from the defaults. Comments say what
/// each key means and which values it accepts.
std::string StarterConfig(Config config, std::string_view introduction);

}  // namespace tandem
