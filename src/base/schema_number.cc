#include "base/schema_number.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

void RequireKnown(const std::string& file, std::int64_t found, std::int64_t known) {
  if (found <= known) return;
  throw InputError(
      fmt::format("{}: its layout has number {}, expected at most {}. A newer version of Tandem "
                  "wrote the file; use that version.",
                  file, found, known));
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

}  // namespace tandem
