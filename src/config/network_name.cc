#include "config/network_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "config/choices.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// Returns the number of a part such as 5000H, whose letter is `letter`.
std::optional<std::int64_t> NumberOf(std::string_view part, char letter) {
  if (!part.ends_with(letter)) return std::nullopt;
  part.remove_suffix(1);
  return ParseNumber<std::int64_t>(part);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> KeysOfNetworkName(std::string_view name,
                                                                   std::string_view origin) {
  const auto fail = [&](const std::string& why) {
    throw InputError(
        fmt::format("{}: `network.name` is '{}', {}; expected a name such as 1000H_4B_bn or "
                    "resnet_fc.1000H_4B_bn: the width, the number of blocks, and bn or ln for the "
                    "normalisation, if any",
                    origin, name, why));
  };
  constexpr std::string_view kArchitecture = "resnet_fc.";
  std::string_view rest = name;
  if (rest.starts_with(kArchitecture)) rest.remove_prefix(kArchitecture.size());
  if (rest.empty()) fail("which has no parts");
  std::optional<std::int64_t> width;
  std::optional<std::int64_t> blocks;
  std::optional<std::string> norm;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('_'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const auto once = [&](auto& into, const auto& value) {
      if (into) fail(fmt::format("in which '{}' repeats an earlier part", part));
      into = value;
    };
    if (const auto number = NumberOf(part, 'H')) {
      once(width, *number);
    } else if (const auto number = NumberOf(part, 'B')) {
      once(blocks, *number);
    } else if (part == "bn") {
      once(norm, "batch");
    } else if (part == "ln") {
      once(norm, "layer");
    } else if (part == "wn") {
      fail("in which wn asks for weight normalisation, which Tandem does not have");
    } else {
      fail(fmt::format("in which '{}' is not known", part));
    }
  }
  return {{"network.kind", std::string(kResNetFc)},
          {"network.stem_width", "0"},
          {"network.width", std::to_string(width.value_or(1000))},
          {"network.blocks", std::to_string(blocks.value_or(4))},
          {"network.norm", norm.value_or("none")}};
}

}  // namespace tandem
