// Configs from YAML and from the command line, and back.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/train_config.h"

namespace tandem {

/// A `--set KEY=VALUE` of the command line, or an option that stands for one; later ones win.
struct Override {
  std::string key;
  std::string value;
  std::string origin;  ///< for messages: "--set train.batch_size=x"
};

/// Splits "KEY=VALUE". Throws InputError if there is no '='.
Override ParseOverride(std::string_view text);

/// Reads `path`, applies `overrides`, and checks the whole. Throws InputError that names the file
/// and line (or the option), the key, what was found, what was expected and the nearest known key.
TrainConfig LoadConfig(const std::filesystem::path& path,
                       const std::vector<Override>& overrides = {});

/// The same, from YAML text; `name` stands for the file in messages.
TrainConfig ParseConfig(const std::string& yaml, const std::string& name,
                        const std::vector<Override>& overrides = {});

/// YAML with every key, which ParseConfig reads back to an equal config.
std::string ToYaml(const TrainConfig& config);

}  // namespace tandem
