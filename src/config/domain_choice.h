// Finds the puzzle of a config before the other keys are read.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "config/load.h"

namespace tandem {

/// Returns the puzzle that `overrides` name, or else the document, or else the default puzzle. Its
/// argument is the default of its parameter. Call this before reading other keys, because the keys
/// under `domain` depend on the puzzle. Throws InputError if the puzzle is unknown; the error names
/// the place, the known puzzles and the nearest one. Messages call the document `file`.
DomainConfig ChooseDomain(const YAML::Node& document, const std::string& file,
                          const std::vector<Override>& overrides);

}  // namespace tandem
