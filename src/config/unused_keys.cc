#include "config/unused_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/fields.h"

namespace tandem {
namespace {

// Use says which configs use a key.
struct Use {
  std::string key;
  std::function<bool(const Config&)> is_used;
  std::string why_unused;
};

// The choices of a key, such as "linear" and "cosine" of optimizer.schedule, that read another key.
std::vector<std::string> ReadersOf(const std::string& key, const Field& choice) {
  std::vector<std::string> readers;
  const auto* const field = std::get_if<ChoiceField>(&choice.value);
  for (std::size_t i = 0; field != nullptr && i < field->names.size(); ++i) {
    if (std::ranges::count(field->reads[i], key) > 0) readers.push_back(field->names[i]);
  }
  return readers;
}

// Returns the uses of all keys that some configs do not use, in the order of a config.
std::vector<Use> AllUses() {
  Config defaults;
  const std::vector<Field> fields = FieldsOf(defaults);
  std::vector<Use> uses;
  for (const Field& field : fields) {
    if (field.traits.is_used != nullptr) {
      uses.push_back({field.key, field.traits.is_used, std::string(field.traits.why_unused)});
    }
    for (const Field& choice : fields) {
      const std::vector<std::string> readers = ReadersOf(field.key, choice);
      if (readers.empty()) continue;
      uses.push_back(
          {field.key,
           [key = choice.key, readers](const Config& config) {
             return std::ranges::count(readers, ValueText(config, key)) > 0;
           },
           fmt::format("only `{}: {}` reads it", choice.key, fmt::join(readers, "` or `"))});
    }
  }
  return uses;
}

std::string Sentence(const Use& use, const Config& config) {
  return fmt::format("`{}: {}` has no effect: {}", use.key, ValueText(config, use.key),
                     use.why_unused);
}

bool IsOfSearch(std::string_view key) { return key.starts_with("search."); }

}  // namespace

std::vector<std::string> DescribeUnusedKeys(const Config& run) {
  const Config defaults;
  std::vector<std::string> sentences;
  for (const Use& use : AllUses()) {
    if (IsOfSearch(use.key)) continue;
    const bool is_set = ValueText(run, use.key) != ValueText(defaults, use.key);
    if (is_set && !use.is_used(run)) sentences.push_back(Sentence(use, run));
  }
  return sentences;
}

std::vector<std::string> DescribeUnusedSearchKeys(const Config& config,
                                                  const std::vector<Override>& overrides) {
  std::vector<std::string> sentences;
  for (const Use& use : AllUses()) {
    if (!IsOfSearch(use.key) || !IsOverridden(overrides, use.key) || use.is_used(config)) continue;
    sentences.push_back(Sentence(use, config));
  }
  return sentences;
}

}  // namespace tandem
