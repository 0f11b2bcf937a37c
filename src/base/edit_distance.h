// How much two words differ, for suggestions.
#pragma once

#include <cstddef>
#include <string_view>

namespace tandem {

/// The Levenshtein distance: the least number of letters to insert, delete or replace that turns
/// one word into the other. The time grows with the product of both lengths.
std::size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace tandem
