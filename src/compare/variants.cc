#include "compare/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "tandem/error.h"

namespace tandem {

std::vector<std::string> SplitList(std::string_view text, std::string_view option) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part(text.substr(begin, end - begin));
    if (part.empty()) {
      throw InputError(fmt::format("{} {}: expected values separated by commas", option, text));
    }
    if (std::ranges::find(parts, part) != parts.end()) {
      throw InputError(fmt::format("{} {}: `{}` is listed twice", option, text, part));
    }
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

Variation ParseVariation(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError(fmt::format("--vary {}: expected KEY=VALUE1,VALUE2", text));
  }
  for (const auto& [key, option] : {std::pair{"seed", "--seeds"}, {"pipeline.mode", "--modes"}}) {
    if (text.substr(0, equals) == key) {
      throw InputError(fmt::format("--vary {}: use {} instead", text, option));
    }
  }
  Variation variation{.key = std::string(text.substr(0, equals)),
                      .values = SplitList(text.substr(equals + 1), "--vary")};
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

}  // namespace

std::vector<Variant> MakeVariants(std::span<const std::string> modes,
                                  std::span<const Variation> variations) {
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
    for (const std::string& mode : modes) {
      Variant& added = all.emplace_back(variant);
      added.mode = mode;
      added.name = mode + variant.name;
    }
  }
  CheckFolderNames(all);
  return all;
}

}  // namespace tandem
