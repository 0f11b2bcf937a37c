// Configs as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <vector>

#include "config/load.h"

namespace tandem::python {

/// Changes to a config: keys and values as `--set KEY=VALUE` takes them.
using Settings = std::map<std::string, std::string>;

std::vector<Override> ToOverrides(const Settings& settings);

}  // namespace tandem::python
