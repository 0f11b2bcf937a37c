#include "permutation/place.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "tandem/error.h"

namespace tandem {
namespace {

// Formats a number without an exponent: 0.000001 and not 1e-06.
std::string Plain(float number) {
  std::array<char, 64> digits{};
  const auto written =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  return {digits.data(), written.ptr};
}

}  // namespace

void Place::Fail(const YAML::Mark& mark, const std::string& what) const {
  const std::string line = mark.is_null() ? "" : ":" + std::to_string(mark.line + 1);
  throw InputError(file_ + line + ": " + what);
}

std::string Place::Word(const YAML::Node& node, const std::string& what) const {
  const auto parts_words = [](unsigned char letter) { return letter <= ' ' || letter == 0x7f; };
  const bool word =
      node.IsScalar() && !node.Scalar().empty() && std::ranges::none_of(node.Scalar(), parts_words);
  if (!word) Fail(node, what + ": expected a word without white space");
  return node.Scalar();
}

std::vector<YAML::Node> Place::List(const YAML::Node& node, const std::string& what) const {
  if (!node.IsSequence()) Fail(node, what + ": expected a list");
  return {node.begin(), node.end()};
}

float Place::Number(const YAML::Node& node, const std::string& what, float least,
                    float most) const {
  float number = 0;
  if (node.IsScalar() && YAML::convert<float>::decode(node, number) && number >= least &&
      number <= most) {
    return number;
  }
  Fail(node, what + ": expected a number from " + Plain(least) + " to " + Plain(most));
}

void Place::CheckKeys(const YAML::Node& map, std::span<const char* const> known,
                      const std::string& of) const {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = Word(entry.first, of + " key");
    if (!seen.insert(key).second) {
      Fail(entry.first, std::string(of).append(" `").append(key).append("` occurs twice"));
    }
    if (std::ranges::find(known, key) != known.end()) continue;
    std::string keys;
    for (const char* each : known) keys += (keys.empty() ? "" : ", ") + std::string(each);
    Fail(entry.first, std::string("unknown ")
                          .append(of)
                          .append(" key `")
                          .append(key)
                          .append("`; the keys are ")
                          .append(keys));
  }
}

}  // namespace tandem
