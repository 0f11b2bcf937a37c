// Lines of JSON that carry a hash of themselves, so that damage to a file that grows is found.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "tandem/error.h"

namespace tandem {

/// The key of the hash. It is the last entry of a line.
inline constexpr const char* kLineHash = "hash";

/// Returns the object `line` as JSON on one line, without a line break, with the hash of its other
/// entries as its last entry. Replaces the hash that `line` has.
std::string WithHash(nlohmann::ordered_json line);

/// Returns whether `line` does not match its hash. A line without a hash is not damaged: earlier
/// versions of Tandem wrote such lines. One changed bit is always found.
bool IsDamaged(std::string_view line);

/// Returns the object on a line. If the line is damaged or is not a JSON object, for example
/// because it was only half written, returns nothing and logs a warning that begins with `where`,
/// such as "FILE:7", and ends with `consequence`, such as "the line is left out".
template <class Json>
std::optional<Json> ReadLineOrWarn(std::string_view line, const std::string& where,
                                   std::string_view consequence) {
  std::string why = "expected the line's hash to match";
  if (!IsDamaged(line)) {
    try {
      return ParseJsonObject<Json>(line);
    } catch (const InputError& error) {
      why = error.what();
    }
  }
  LogWarning(fmt::format("{}: {}; {}", where, why, consequence));
  return std::nullopt;
}

}  // namespace tandem
