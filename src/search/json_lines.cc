#include "search/json_lines.h"

#include "tandem/state_text.h"

namespace tandem {

using nlohmann::json;

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

bool HasValue(const json& object, const char* key) {
  return object.contains(key) && !object[key].is_null();
}

std::optional<std::int64_t> ReadWholeNumber(const json& object, const char* key,
                                            std::int64_t most) {
  if (!HasValue(object, key)) return std::nullopt;
  const json& value = object[key];
  if (value.is_number_integer() && value >= 0 && value <= most) return value.get<std::int64_t>();
  ThrowWrongEntry(object, key, fmt::format("a whole number from 0 to {}", most));
}

}  // namespace tandem
