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

/// Returns the end of the error for an unknown key, command or option, or an unknown choice, which
/// has the form KEY:VALUE: what to use instead of one that was removed; "" if there never was one.
std::string SuggestRemoved(std::string_view name);

}  // namespace tandem
