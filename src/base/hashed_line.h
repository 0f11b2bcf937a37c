// Lines of JSON that carry a hash of themselves, so that damage to a file that grows is found.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tandem {

/// The key of the hash. It is the last entry of a line.
inline constexpr const char* kLineHash = "hash";

/// Returns the object `line` as JSON on one line, without a line break, with the hash of its other
/// entries as its last entry. Replaces the hash that `line` has.
std::string WithHash(nlohmann::ordered_json line);

/// Returns whether `line` does not match its hash. A line without a hash is not damaged: earlier
/// versions of Tandem wrote such lines. One changed bit is always found.
bool IsDamaged(std::string_view line);

/// Returns whether the line is damaged, or is no JSON object, as a line that is half written. If
/// so, logs a warning that begins with `where`, such as "FILE:7", and ends with `consequence`, such
/// as "the line is left out".
bool WarnIfDamaged(std::string_view line, const std::string& where, std::string_view consequence);

}  // namespace tandem
