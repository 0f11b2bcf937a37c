// Parses permutations in the notations that people use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

/// Reads cycles such as "(0 1 2)(5 6)": the contents of position 0 move to 1, those of 1 to 2, and
/// those of 2 to 0. Throws std::invalid_argument that names the wrong position.
Permutation ParseCycles(std::string_view text, std::size_t positions);

/// Reads an array: number i is the position whose contents move to position i. Throws
/// std::invalid_argument that names the wrong position.
Permutation ParseArray(const std::vector<std::string>& numbers, std::size_t positions);

}  // namespace tandem
