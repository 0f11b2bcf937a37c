// Reads nodes of a YAML file, with errors that name the file and the line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <span>
#include <string>
#include <vector>

namespace tandem {

/// Place reads nodes of one file. `what` is the name of a node in messages, for example "goal". If
/// a node is not of the expected form, each method throws as Fail does.
class Place {
 public:
  explicit Place(std::string file) : file_(std::move(file)) {}

  /// Throws InputError that names the file, the line of the node and `what`.
  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& what) const;
  [[noreturn]] void Fail(const YAML::Node& node, const std::string& what) const {
    Fail(node.Mark(), what);
  }

  /// Reads a scalar without white space.
  std::string Word(const YAML::Node& node, const std::string& what) const;
  std::vector<YAML::Node> List(const YAML::Node& node, const std::string& what) const;
  /// Reads a number from `least` to `most`.
  float Number(const YAML::Node& node, const std::string& what, float least, float most) const;
  /// Checks that no key of `map` occurs twice or is unknown. `of` says whose keys they are.
  void CheckKeys(const YAML::Node& map, std::span<const char* const> known,
                 const std::string& of) const;

 private:
  std::string file_;
};

}  // namespace tandem
