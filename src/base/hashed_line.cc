#include "base/hashed_line.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/json.h"

namespace tandem {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// Returns the end of a line, which holds its hash. `text` is the line before that.
std::string HashEntry(std::string_view text) {
  Hash hash;
  hash.Add(text);
  return fmt::format(R"(,"{}":"{}"}})", kLineHash, hash.Hex());
}

}  // namespace

std::string WithHash(nlohmann::ordered_json line) {
  line.erase(kLineHash);
  std::string text = DumpJson(line);
  text.pop_back();  // the closing brace
  return text + HashEntry(text);
}

bool IsDamaged(std::string_view line) {
  const std::size_t length = HashEntry("").size();
  if (line.size() < length) return false;
  const std::string_view entry = line.substr(line.size() - length);
  const std::string_view digits = entry.substr(length - 2 - kHashDigits, kHashDigits);
  const std::string_view key = entry.substr(0, length - 2 - kHashDigits);
  const bool has_key = HashEntry("").starts_with(key);
  const bool has_digits = digits.find_first_not_of(kHexDigits) == std::string_view::npos;
  // If only one is there, the other was changed.
  if (!has_key && !has_digits) return false;
  return entry != HashEntry(line.substr(0, line.size() - length));
}

}  // namespace tandem
