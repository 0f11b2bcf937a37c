// The published test sets: a few states of each, which are in data/, and the whole sets where they
// lie beside the source.
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
  int length;    ///< of a solution
  bool optimal;  ///< there is none shorter; else it is the best known
};

/// Of a file of JSON lines; none where there is no such file.
inline std::vector<PublishedState> ReadPublished(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
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

/// A few states of a test set, such as "puzzle15"; there are always some.
inline std::vector<PublishedState> FewPublished(const std::string& name) {
  const std::string file = name == "cube3" ? "cube3_ten" : "published/" + name;
  return ReadPublished(SourceFolder() / "data" / (file + ".jsonl"));
}

/// All of them; none where the sets are not here.
inline std::vector<PublishedState> AllPublished(const std::string& name) {
  return ReadPublished(SourceFolder() / "../shared/testsets" / (name + ".jsonl"));
}

}  // namespace tandem
