// Reads files of JSON lines: one JSON object per line, which people or other programs may write.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "tandem/error.h"

namespace tandem {

/// Returns the text of an error about a line: "FILE:7: WHAT".
std::string AtLine(std::string_view file, std::size_t number, std::string_view what);

/// JsonLines goes through the lines of a text. It skips blank lines and lines that begin with '#'.
class JsonLines {
 public:
  /// Begins before the first line. `file` names the file in errors.
  JsonLines(std::string file, std::string text) : file_(std::move(file)), in_(std::move(text)) {}

  /// Goes to the next line. Returns false at the end of the text.
  bool Next();

  /// The number of the line, from 1, and its text without white space at its ends.
  std::size_t number() const { return number_; }
  std::string_view text() const { return text_; }

  /// Returns read(object) for the JSON object on the line. If the line is not an object, or if
  /// `read` throws InputError, throws InputError that begins with the file and the line.
  template <class Read>
  auto ReadObject(const Read& read) const {
    try {
      return read(ParseJsonObject(text_));
    } catch (const InputError& error) {
      throw InputError(AtLine(file_, number_, error.what()));
    }
  }

 private:
  const std::string file_;
  std::istringstream in_;
  std::string line_;
  std::string_view text_;  // of line_
  std::size_t number_ = 0;
};

/// Returns the number above 0 and at most `most` that `object` has as `key`. If the key is missing
/// or null, returns nothing. A number that `Number` rounds to 0 is not above 0. For other values,
/// throws as ThrowWrongEntry does.
template <class Number>
std::optional<Number> ReadPositiveNumber(const nlohmann::json& object, const char* key,
                                         double most) {
  if (!HasValue(object, key)) return std::nullopt;
  const nlohmann::json& value = object[key];
  const double exact = value.is_number() ? value.get<double>() : 0;
  const Number number = exact <= most ? static_cast<Number>(exact) : Number{0};
  if (number > 0) return number;
  ThrowWrongEntry(object, key, fmt::format("a number above 0 and at most {:.0f}", most));
}

}  // namespace tandem
