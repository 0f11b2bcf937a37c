// Suggestions for names in a config that are not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/fields.h"

namespace tandem {

/// Returns the end of the error for an unknown `domain.name`: ". Did you mean cube3?".
std::string SuggestDomain(const std::string& name);

/// Returns the end of the error for an unknown key of a config whose puzzle is `domain`: what to
/// use instead of a key that was removed, the puzzles that have the key, a key of `fields` that
/// other programs call so or that is like it, or else the sections.
std::string SuggestKey(const std::string& key, const std::vector<Field>& fields,
                       std::string_view domain);

/// Returns the end of the error for an unknown command or option: what to use instead of one that
/// was removed; "" if there never was one.
std::string SuggestWord(std::string_view word);

/// Returns the end of the error for a value that `key` does not accept: what to use instead of a
/// choice that was removed; "" if the value never was a choice.
std::string SuggestChoice(std::string_view key, std::string_view value);

}  // namespace tandem
