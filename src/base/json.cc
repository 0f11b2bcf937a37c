#include "base/json.h"

#include "base/hash.h"
#include "base/text.h"

namespace tandem {
namespace {

void RequireKnown(const std::string& file, std::int64_t found, std::int64_t known) {
  if (found <= known) return;
  throw InputError(
      fmt::format("{}: its layout has number {}, expected at most {}. A newer version of Tandem "
                  "wrote the file; use that version.",
                  file, found, known));
}

constexpr std::string_view kHexDigits = "0123456789abcdef";

// The end of a line, around the digits of its hash.
constexpr std::string_view kBegin = R"(,"hash":")";
constexpr std::string_view kEnd = R"("})";
constexpr std::size_t kEntrySize = kBegin.size() + kHashDigits + kEnd.size();

// Returns the end of a line. `text` is the line before that.
std::string HashEntry(std::string_view text) {
  return fmt::format("{}{}{}", kBegin, HashOf(text), kEnd);
}

}  // namespace

void RequireKnownSchema(const std::string& file, std::string_view text, std::string_view name,
                        std::int64_t known) {
  if (!text.starts_with(name)) return;
  text.remove_prefix(name.size());
  if (!text.starts_with(' ')) return;
  text.remove_prefix(1);
  const auto found = ParseNumber<std::int64_t>(text.substr(0, text.find('\n')));
  if (found) RequireKnown(file, *found, known);
}

void RequireKnownSchema(const std::string& file, const nlohmann::json& json, std::int64_t known) {
  const auto found = json.is_object() ? json.find("schema") : json.end();
  if (found != json.end() && found->is_number_integer()) {
    RequireKnown(file, found->get<std::int64_t>(), known);
  }
}

std::string WithHash(nlohmann::ordered_json line) {
  line.erase(kLineHash);
  std::string text = DumpJson(line);
  text.pop_back();  // the closing brace
  return text + HashEntry(text);
}

bool IsDamaged(std::string_view line) {
  if (line.size() >= kEntrySize) {
    const std::string_view text = line.substr(0, line.size() - kEntrySize);
    const std::string_view entry = line.substr(text.size());
    if (entry == HashEntry(text)) return false;
    const std::string_view digits = entry.substr(kBegin.size(), kHashDigits);
    const bool has_digits = digits.find_first_not_of(kHexDigits) == std::string_view::npos;
    if (has_digits) return true;  // then the key was changed, if it is not there
  }
  return line.find(R"("hash":)") != std::string_view::npos;
}

}  // namespace tandem
