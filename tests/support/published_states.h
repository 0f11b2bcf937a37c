// States of published test sets. A few of each set are in data/. The complete sets are read from a
// folder beside the source tree, if it exists.
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

/// Reads a file of JSON lines. Throws InputError if there is no such file.
inline std::vector<PublishedState> ReadPublished(const std::filesystem::path& file) {
  std::istringstream lines(ReadFile(file));
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

/// A few states of a test set, such as "puzzle15".
inline std::vector<PublishedState> FewPublished(const std::string& name) {
  const std::string file = name == "cube3" ? "cube3_ten" : "published/" + name;
  return ReadPublished(SourceFolder() / "data" / (file + ".jsonl"));
}

/// All states of a test set; empty if the complete sets are not available.
inline std::vector<PublishedState> AllPublished(const std::string& name) {
  const auto file = SourceFolder() / "../shared/testsets" / (name + ".jsonl");
  if (!std::filesystem::exists(file)) return {};
  return ReadPublished(file);
}

}  // namespace tandem
