// Reads the nodes of a YAML file, and says of what is wrong in which file and line it is.
#pragma once

#include <yaml-cpp/yaml.h>

#include <span>
#include <string>
#include <vector>

namespace tandem {

/// A file, whose nodes are told by their lines. `what` names a node in messages: "goal". All but
/// Fail throw as Fail does where a node is not what they read.
class Place {
 public:
  explicit Place(std::string file) : file_(std::move(file)) {}

  /// Throws InputError that names the file, the line of the node and `what`.
  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& what) const;
  [[noreturn]] void Fail(const YAML::Node& node, const std::string& what) const {
    Fail(node.Mark(), what);
  }

  /// A scalar without white space.
  std::string Word(const YAML::Node& node, const std::string& what) const;
  std::vector<YAML::Node> List(const YAML::Node& node, const std::string& what) const;
  /// From `least` to `most`.
  float Number(const YAML::Node& node, const std::string& what, float least, float most) const;
  /// That no key of `map` stands twice or is unknown; `of` says whose keys they are.
  void CheckKeys(const YAML::Node& map, std::span<const char* const> known,
                 const std::string& of) const;

 private:
  std::string file_;
};

}  // namespace tandem
