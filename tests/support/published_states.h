// States of published test sets (data/published).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "support/source_folder.h"

namespace tandem {

struct PublishedState {
  std::string text;
  int length;    ///< length of the best known solution
  bool optimal;  ///< no shorter solution exists
};

/// All states of a test set, such as "puzzle15".
inline std::vector<PublishedState> AllPublished(const std::string& name) {
  const std::filesystem::path folder = SourceFolder() / "data" / "published";
  std::istringstream lines(ReadFile(folder / (name + ".jsonl")));
  std::vector<PublishedState> states;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    const bool optimal = json.contains("optimal");
    states.push_back({.text = json["state"],
                      .length = json[optimal ? "optimal" : "best_known"],
                      .optimal = optimal});
  }
  return states;
}

/// The first three states of a test set.
inline std::vector<PublishedState> FewPublished(const std::string& name) {
  std::vector<PublishedState> states = AllPublished(name);
  states.resize(3);
  return states;
}

}  // namespace tandem
