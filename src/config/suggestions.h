// Suggestions for names in a config that are not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"

namespace tandem {

/// Returns the end of the error for an unknown `domain.name`: ". Did you mean cube3?".
std::string SuggestDomain(const std::string& name);

/// Returns the end of the error for an unknown key of a config whose puzzle is `domain`: the new
/// name of a key that was renamed, the puzzles that have the key, a key of `fields` that other
/// programs call so or that is like it, or else the sections.
std::string SuggestKey(const std::string& key, const std::vector<Field>& fields,
                       std::string_view domain);

}  // namespace tandem
