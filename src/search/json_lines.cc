#include "search/json_lines.h"

#include "tandem/state_text.h"

namespace tandem {

std::string AtLine(std::string_view file, std::size_t number, std::string_view what) {
  return fmt::format("{}:{}: {}", file, number, what);
}

bool JsonLines::Next() {
  while (std::getline(in_, line_)) {
    ++number_;
    text_ = Trimmed(line_);
    if (!text_.empty() && text_.front() != '#') return true;
  }
  return false;
}

}  // namespace tandem
