// JSON from outside, and names from outside in JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tandem/error.h"

namespace tandem {

/// Arrays and objects within each other. Nothing that Tandem reads comes near it; code that walks
/// through deeper values, such as dump(), could overflow the stack.
inline constexpr int kMostJsonNesting = 64;

/// Reads a JSON value. Throws Json::exception if the text is no JSON, and Error if values nest
/// deeper than kMostJsonNesting.
template <class Json = nlohmann::json>
Json ParseJson(std::string_view text) {
  return Json::parse(text, [](int depth, typename Json::parse_event_t /*event*/, Json& /*value*/) {
    if (depth > kMostJsonNesting) throw Error("its JSON values nest too deeply");
    return true;
  });
}

/// Reads a JSON value, or returns a discarded value if the text is no JSON or nests too deeply.
template <class Json = nlohmann::json>
Json ParseJsonOrDiscard(std::string_view text) {
  try {
    return ParseJson<Json>(text);
  } catch (const typename Json::exception&) {
  } catch (const Error&) {
  }
  return Json(Json::value_t::discarded);
}

/// Writes a JSON value. Names of files and puzzles may be any bytes: those that are no UTF-8 become
/// U+FFFD. `indent` is as in Json::dump.
template <class Json>
std::string DumpJson(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

/// The text with U+FFFD in place of bytes that are no UTF-8, as DumpJson writes it.
inline std::string AsUtf8(std::string_view text) {
  return ParseJson(DumpJson(nlohmann::json(text))).get<std::string>();
}

}  // namespace tandem
