// Lists in options of the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Splits "a,b,c". Throws InputError, naming `option`, if a part is empty or comes twice.
std::vector<std::string> SplitList(std::string_view text, std::string_view option);

}  // namespace tandem
