// Which puzzle a config is about.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "config/load.h"

namespace tandem {

/// The puzzle that `overrides`, or else the document, name, with its parameter's default. Comes
/// before everything else in a config, since the keys that it may hold depend on its puzzle. Throws
/// InputError that names the place, the puzzles there are and the nearest; `file` stands for the
/// document.
DomainConfig ChooseDomain(const YAML::Node& document, const std::string& file,
                          const std::vector<Override>& overrides);

}  // namespace tandem
