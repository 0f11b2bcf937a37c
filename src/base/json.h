// Reading and writing JSON whose text or strings come from outside the program.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/log.h"
#include "tandem/error.h"

namespace tandem {

/// The deepest nesting of arrays and objects that ParseJson accepts. Nothing that Tandem reads
/// comes near it. Code that recurses into deeper values, such as dump(), could overflow the stack.
inline constexpr int kMaxJsonNesting = 64;

/// The longest name of an entry that ParseJson accepts, in bytes. Code that joins the names of
/// nested objects would otherwise make texts that are much larger than the file.
inline constexpr std::size_t kMaxJsonName = 1000;

/// The most names that ParseJson accepts in a text if objects keep the order of their entries. Such
/// an object compares a new name with all earlier ones.
inline constexpr std::size_t kMaxOrderedJsonNames = 20'000;

/// Parses a JSON value. Throws Json::exception if the text is not valid JSON, and Error if values
/// nest deeper than kMaxJsonNesting, a name is longer than kMaxJsonName or there twice in an
/// object, or an ordered_json has more names than kMaxOrderedJsonNames.
template <class Json = nlohmann::json>
Json ParseJson(std::string_view text) {
  constexpr bool kIsOrdered = std::is_same_v<Json, nlohmann::ordered_json>;
  using Event = typename Json::parse_event_t;
  std::size_t names = 0;
  std::vector<std::size_t> open;  // how many names each object has so far, from the outermost
  return Json::parse(text, [&](int depth, Event event, Json& value) {
    if (depth > kMaxJsonNesting) throw Error("its JSON values nest too deeply");
    if (event == Event::object_start) open.push_back(0);
    if (event == Event::object_end) {
      if (value.size() != open.back()) throw Error("an object in its JSON has a name twice");
      open.pop_back();
    }
    if (event != Event::key) return true;
    ++open.back();
    if (value.template get_ref<const std::string&>().size() > kMaxJsonName) {
      throw Error("a name in its JSON is longer than 1,000 bytes");
    }
    if (kIsOrdered && ++names > kMaxOrderedJsonNames) {
      throw Error("its JSON has more than 20,000 names");
    }
    return true;
  });
}

/// The value as a message shows it: at most about 60 characters.
template <class Json>
std::string ShortJson(const Json& value) {
  constexpr std::size_t kMost = 60;
  const std::string text =
      value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

/// Parses a line that must be a JSON object. Throws InputError, which says why and where, if it is
/// not, or if it exceeds the limits of ParseJson.
template <class Json = nlohmann::json>
Json ParseJsonObject(std::string_view line) {
  std::string found;
  try {
    Json value = ParseJson<Json>(line);
    if (value.is_object()) return value;
    found = ShortJson(value);
  } catch (const typename Json::parse_error& error) {
    found = "invalid JSON at byte " + std::to_string(error.byte);
  } catch (const typename Json::exception&) {
    throw InputError("cannot read the JSON object: a number in its JSON is too large");
  } catch (const Error& error) {
    throw InputError(std::string("cannot read the JSON object: ") + error.what());
  }
  throw InputError("expected a JSON object, found " + found);
}

/// Throws InputError: "expected `KEY` to be EXPECTED, found VALUE", or "expected `KEY`, EXPECTED"
/// if `object` has no such key.
[[noreturn]] inline void ThrowWrongEntry(const nlohmann::json& object, std::string_view key,
                                         const std::string& expected) {
  const auto found = object.find(key);
  const std::string name = "`" + std::string(key) + "`";
  if (found == object.end()) throw InputError("expected " + name + ", " + expected);
  throw InputError("expected " + name + " to be " + expected + ", found " + ShortJson(*found));
}

/// Returns the object or the list that `object` has as `key`. If the key is missing, or its value
/// is of another type, throws as ThrowWrongEntry does.
inline const nlohmann::json& ReadObject(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) ThrowWrongEntry(object, key, "an object");
  return *found;
}
inline const nlohmann::json& ReadList(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) ThrowWrongEntry(object, key, "a list");
  return *found;
}

/// Returns the text, the floating-point number or the whole number that `object` has as `key`. If
/// it is missing, of another type or does not fit `Value`, throws as ThrowWrongEntry does.
template <class Value>
Value ReadEntry(const nlohmann::json& object, const std::string& key) {
  constexpr bool kIsText = std::is_same_v<Value, std::string>;
  constexpr bool kIsWhole = std::is_integral_v<Value>;
  const auto found = object.find(key);
  if (found != object.end()) {
    if constexpr (kIsText) {
      if (found->is_string()) return found->template get<Value>();
    } else if constexpr (kIsWhole) {
      const bool fits = found->is_number_unsigned()
                            ? std::in_range<Value>(found->template get<std::uint64_t>())
                            : found->is_number_integer() &&
                                  std::in_range<Value>(found->template get<std::int64_t>());
      if (fits) return found->template get<Value>();
    } else if (found->is_number()) {
      return found->template get<Value>();
    }
  }
  std::string expected = kIsText ? "a string" : kIsWhole ? "a whole number" : "a number";
  if constexpr (kIsWhole) {
    using Limits = std::numeric_limits<Value>;
    if (found != object.end() && found->is_number_integer()) {
      expected += " from " + std::to_string(Limits::min()) + " to " + std::to_string(Limits::max());
    }
  }
  ThrowWrongEntry(object, key, expected);
}

/// Returns the whole number from 0 to `most` that `object` has as `key`. If the key is missing or
/// has another value, throws as ThrowWrongEntry does.
inline std::int64_t ReadCount(const nlohmann::json& object, const std::string& key,
                              std::int64_t most) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number_unsigned() &&
      std::cmp_less_equal(found->get<std::uint64_t>(), most)) {
    return found->get<std::int64_t>();
  }
  ThrowWrongEntry(object, key, "a whole number from 0 to " + std::to_string(most));
}

/// Whether `object` has a value as `key` that is not null.
inline bool HasValue(const nlohmann::json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

/// ReadEntry for a value that may be missing or null.
template <class Value>
std::optional<Value> FindEntry(const nlohmann::json& object, const std::string& key) {
  if (!HasValue(object, key)) return std::nullopt;
  return ReadEntry<Value>(object, key);
}

/// ParseJson that returns a discarded value where that throws.
template <class Json = nlohmann::json>
Json ParseJsonOrDiscard(std::string_view text) {
  try {
    return ParseJson<Json>(text);
  } catch (const typename Json::exception&) {
  } catch (const Error&) {
  }
  return Json(Json::value_t::discarded);
}

/// Formats a JSON value. Names of files and puzzles may hold any bytes; bytes that are not valid
/// UTF-8 become U+FFFD. `indent` is that of Json::dump.
template <class Json>
std::string DumpJson(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

/// `text` with U+FFFD in place of bytes that are not valid UTF-8, as DumpJson writes it.
inline std::string AsUtf8(std::string_view text) {
  return ParseJson(DumpJson(nlohmann::json(text))).get<std::string>();
}

// Each kind of file states the number of its layout. A file with a larger number than the program
// knows comes from a newer version. It is not damaged, and must not be replaced. These functions
// throw InputError that names `file` and both numbers if the number is larger than `known`. They
// accept a file without a number, which its reader reports.

/// Checks a file that begins with `name`, a space and the number: "tandem shard 2".
void RequireKnownSchema(const std::string& file, std::string_view text, std::string_view name,
                        std::int64_t known);

/// Checks a JSON object that has the number as `schema`.
void RequireKnownSchema(const std::string& file, const nlohmann::json& json, std::int64_t known);

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
