#include "base/split_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
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

}  // namespace tandem
