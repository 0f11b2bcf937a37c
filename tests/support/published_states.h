// The published test sets, where they lie beside the source.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"

namespace tandem {

/// What is published of a state: the length of a shortest solution, or of the best known.
struct PublishedState {
  std::string text;
  int length;
};

/// The states of a published test set with their lengths; none where it is not here.
inline std::vector<PublishedState> PublishedLengths(const std::string& name) {
  const std::filesystem::path folder = TANDEM_SOURCE_DIR "/../shared/testsets";
  const std::filesystem::path file = folder / (name + ".jsonl");
  if (!std::filesystem::exists(file)) return {};
  std::istringstream lines(ReadFile(file));
  std::vector<PublishedState> states;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    states.push_back({.text = json["state"],
                      .length = json[json.contains("optimal") ? "optimal" : "best_known"]});
  }
  return states;
}

/// The states of a published test set, such as "puzzle15"; none where it is not here.
inline std::vector<std::string> PublishedStates(const std::string& name) {
  std::vector<std::string> texts;
  for (const PublishedState& state : PublishedLengths(name)) texts.push_back(state.text);
  return texts;
}

}  // namespace tandem
