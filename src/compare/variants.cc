#include "compare/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>

#include "base/split_list.h"
#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void CheckFolderNames(std::span<const Variant> variants) {
  std::map<std::string, std::string> name_of;
  for (const Variant& variant : variants) {
    const auto [other, is_new] = name_of.emplace(variant.FolderName(), variant.name);
    if (is_new) continue;
    throw InputError(fmt::format("--vary: the runs `{}` and `{}` would use the same folder, {}",
                                 other->second, variant.name, other->first));
  }
}

// Parses "1,2". Throws InputError if a number is not in `least`..`most`, or comes twice: 01 is 1.
template <class Number>
std::vector<Number> ParseNumbers(std::string_view text, std::string_view option, Number least,
                                 Number most) {
  std::vector<Number> numbers;
  for (const std::string& part : SplitList(text, option)) {
    const auto number = ParseNumber<Number>(part);
    if (!number || *number < least || *number > most) {
      throw InputError(
          fmt::format("{} {}: expected whole numbers from {} to {}", option, text, least, most));
    }
    if (std::ranges::find(numbers, *number) != numbers.end()) {
      throw InputError(fmt::format("{} {}: {} is listed twice", option, text, *number));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

Variation ParseVariation(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError(fmt::format("--vary {}: expected KEY=VALUE1,VALUE2", text));
  }
  const std::string_view varied = text.substr(0, equals);
  for (const auto& [key, option] : {std::pair{"seed", "--seeds"}, {"pipeline.mode", "--modes"}}) {
    if (varied == key) throw InputError(fmt::format("--vary {}: use {} instead", text, option));
  }
  if (varied == "train.max_updates" || varied == "train.max_seconds") {
    throw InputError(
        fmt::format("--vary {}: all runs do the same updates, so that they can be compared", text));
  }
  Variation variation{
      .key = std::string(varied),
      .values = SplitList(text.substr(equals + 1), fmt::format("--vary {}:", varied))};
  if (variation.values.size() < 2) {
    throw InputError(
        fmt::format("--vary {}: expected two values or more, such as prefetch.depth=1,2. To give "
                    "every run the same value, use --set.",
                    text));
  }
  return variation;
}

std::vector<Override> Variant::Overrides() const {
  std::vector<Override> overrides = {{"pipeline.mode", mode, "--modes " + mode}};
  if (aligned_lag) overrides.push_back({"pipeline.policy_lag", "1", "tandem compare"});
  for (const auto& [key, value] : varied) {
    overrides.push_back({key, value, fmt::format("--vary {}={}", key, value)});
  }
  return overrides;
}

std::string Variant::FolderName() const {
  std::string safe = name;
  for (char& c : safe) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '=') c = '-';
  }
  return safe;
}

std::vector<int> ParseRanks(std::string_view text) {
  constexpr int kMost = 1024;
  return ParseNumbers<int>(text, "--ranks", 1, kMost);
}

std::vector<std::string> ParseSeeds(std::string_view text) {
  std::vector<std::string> seeds;
  for (const std::int64_t seed : ParseNumbers<std::int64_t>(text, "--seeds", 0, INT64_MAX)) {
    seeds.push_back(std::to_string(seed));
  }
  return seeds;
}

std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations,
                                  std::span<const int> ranks) {
  std::vector<Variant> variants = {{}};
  for (const Variation& variation : variations) {
    std::vector<Variant> longer;
    for (const Variant& variant : variants) {
      for (const std::string& value : variation.values) {
        Variant& added = longer.emplace_back(variant);
        added.name += fmt::format(" {}={}", variation.key, value);
        added.varied.emplace_back(variation.key, value);
      }
    }
    variants = std::move(longer);
  }
  std::vector<Variant> all;
  for (const Variant& variant : variants) {
    for (const int number : ranks) {
      for (const std::string& mode : modes) {
        Variant& added = all.emplace_back(variant);
        added.mode = mode;
        added.ranks = number;
        added.name = mode + variant.name;
        if (ranks.size() > 1) added.name += fmt::format(" ranks={}", number);
      }
    }
  }
  CheckFolderNames(all);
  return all;
}

}  // namespace tandem
