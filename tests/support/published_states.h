// The published test sets, where they lie beside the source.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"

namespace tandem {

/// The states of a published test set, such as "puzzle15"; none where it is not here.
inline std::vector<std::string> PublishedStates(const std::string& name) {
  const std::filesystem::path folder = TANDEM_SOURCE_DIR "/../shared/testsets";
  const std::filesystem::path file = folder / (name + ".jsonl");
  if (!std::filesystem::exists(file)) return {};
  std::istringstream lines(ReadFile(file));
  std::vector<std::string> states;
  for (std::string line; std::getline(lines, line);) {
    states.push_back(nlohmann::json::parse(line)["state"]);
  }
  return states;
}

}  // namespace tandem
