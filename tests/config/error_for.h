// The error that reading a config reports.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "tandem/error.h"

namespace tandem {

/// Returns the error for a config with the text `yaml`, in a file called my.yaml, and these
/// settings of the command line; "" if the config is valid.
inline std::string ErrorFor(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  try {
    std::vector<Override> overrides;
    for (const std::string& set : sets) overrides.push_back(ParseOverride(set));
    ParseConfig(yaml, "my.yaml", overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace tandem
