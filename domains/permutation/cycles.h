// Permutations as people write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

/// Reads "(0 1 2)(5 6)": what is at 0 goes to 1, what is at 1 to 2, what is at 2 to 0. Throws
/// std::invalid_argument that names the position that is wrong.
Permutation ParseCycles(std::string_view text, std::size_t positions);

/// Reads an array: number i is the position whose content moves to position i. Throws as
/// ParseCycles.
Permutation ParseArray(const std::vector<std::string>& numbers, std::size_t positions);

}  // namespace tandem
