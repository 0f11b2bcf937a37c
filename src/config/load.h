// Reads configs from YAML and from the command line, checks them as a whole, and writes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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

/// Returns overrides that set the keys that a run chose for its machine (KeyTraits::is_of_machine),
/// and the keys in `also`, to `auto`, and then `overrides`, which win. Messages say that `origin`
/// set a key to `auto`.
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

/// Reports that `key` contradicts `other`. `why` says what was expected and what to change. The
/// caller adds both values and where they were set, and throws InputError.
using Contradiction =
    std::function<void(const std::string& key, const std::string& other, const std::string& why)>;

/// Calls `contradiction`, which must throw, for the first pair of keys that contradict each other.
void Validate(const Config& config, const Contradiction& contradiction);

/// Throws InputError that names a key with which several ranks cannot train together, and says why.
/// All other keys decide what happens from the seed, the number of the update, or values that are
/// the same in all ranks.
void CheckRanks(const Config& config);

/// Returns a sentence for each key that differs from its default and that another key makes
/// ineffective: "`optimizer.decay: 0.9` has no effect: only `optimizer.schedule: exponential` reads
/// it". A key that contradicts another one is an error of LoadConfig instead.
std::vector<std::string> DescribeUnusedKeys(const Config& run);

/// Returns a sentence for each of `overrides` that sets a key of the section `search` which
/// search.method makes ineffective.
std::vector<std::string> DescribeUnusedSearchKeys(const Config& config,
                                                  const std::vector<Override>& overrides);

/// Returns YAML that sets every key. ParseConfig reads it back to an equal config, also if a path
/// has bytes that are not UTF-8. Throws InputError if such a path also has line breaks.
std::string ToYaml(const Config& config);

/// Returns a config in which every key has its default, as YAML that ParseConfig reads. Comments
/// say what each key means, which values it accepts, and which keys to try first. Keys that only
/// some puzzles have are commented out.
std::string ConfigReference();

/// Returns a short config for a user to edit, as YAML that ParseConfig reads back to an equal
/// config: `introduction` as a comment, the keys to try first, those of the puzzle, and those whose
/// values differ from the defaults, with comments as in the reference.
std::string StarterConfig(Config config, std::string_view introduction);

}  // namespace tandem
