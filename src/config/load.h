// Reads configs from YAML and from the command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"

namespace tandem {

/// Most bytes of a config. It is far more than a config needs; the parser takes some hundred bytes
/// of memory for each value.
inline constexpr std::int64_t kMostConfigBytes = std::int64_t{1} << 20;

/// Override is one `--set KEY=VALUE` of the command line, or an option that stands for one. If a
/// key is overridden twice, the later value wins.
struct Override {
  std::string key;
  std::string value;
  std::string origin;  ///< for messages: "--set train.batch_size=x"
};

/// Returns whether one of `overrides` sets `key`.
bool IsOverridden(const std::vector<Override>& overrides, std::string_view key);

/// Splits "KEY=VALUE" at the first '='. Throws InputError if there is none.
Override ParseOverride(std::string_view text);

/// Returns overrides with which this machine chooses for itself: they set the keys that a run chose
/// for its machine (KeyTraits::is_of_machine), and the keys in `also`, to `auto`. `overrides`
/// follow, so they win. Messages say that `origin` set a key to `auto`.
std::vector<Override> ForThisMachine(std::string_view origin,
                                     const std::vector<Override>& overrides,
                                     const std::vector<std::string>& also = {});

/// MissingPath is a path that a config names and that does not exist.
struct MissingPath {
  std::string key;
  std::string message;  ///< "`validation.file`: states.jsonl: no such file"
};

/// Returns the first path that `work` needs and that does not exist.
std::optional<MissingPath> FindMissingPath(Config config, PathsOf work);

/// Reads `path`, applies `overrides`, and checks the result. Throws InputError that names the file
/// and line (or the option), the key, the value found, the values expected and, for an unknown key,
/// the nearest known one. The files and folders that `must_exist` names must exist.
Config LoadConfig(const std::filesystem::path& path, const std::vector<Override>& overrides = {},
                  PathsOf must_exist = PathsOf::kNothing);

/// Reads a config from YAML text, as LoadConfig does from a file. Messages call the file `name`.
Config ParseConfig(const std::string& yaml, const std::string& name,
                   const std::vector<Override>& overrides = {});

}  // namespace tandem
