// Small helpers for parsing, comparing and formatting text.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tandem {

/// Parses the whole of `text` as a number. Returns nothing if any part of it is not.
template <class Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// The candidate with the least edit distance to `word`, for suggestions. Returns "" if the
/// distance is above both 2 and a third of the word's length, or if the word has more than 100
/// bytes, because the time grows with the product of both lengths.
std::string_view Nearest(std::string_view word, std::span<const std::string> candidates);

/// The same memory as text, for writing and hashing.
inline std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// "12,345,678".
std::string WithThousands(long long value);

/// Escapes `text` for XML, as text or as a quoted attribute.
std::string XmlEscaped(std::string_view text);

/// Returns `text` for a terminal: control characters other than line breaks and tabs become `\x1b`
/// and so on. A name in a file could otherwise move the cursor or change the terminal's title.
std::string Printable(std::string_view text);

/// Returns a path as a word that a POSIX shell or a program's command line takes for this path. It
/// is quoted if the shell would change it, and gets "./" if it would be taken for an option:
/// `runs/first`, `'my run'`, `./-run`. A path with control characters becomes `$'one\ntwo'`, for
/// bash and zsh, because a message must stay on one line.
std::string ShellWord(std::string_view path);

/// "1 shard", "2,000 shards".
std::string Counted(long long count, std::string_view noun);

/// "beam", "beam or astar", "beam, anytime_beam or astar".
std::string OneOf(std::span<const std::string_view> names);

/// Round to six significant digits, and to microseconds, because JSON writes all digits.
double RoundedReal(double value);
double RoundedSeconds(double seconds);

/// "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min".
std::string HumanSeconds(double seconds);

/// "1.9 GiB", "350.0 MiB".
std::string HumanBytes(double bytes);

/// The Levenshtein distance: the least number of letters to insert, delete or replace that turns
/// one word into the other. The time grows with the product of both lengths.
std::size_t EditDistance(std::string_view a, std::string_view b);

/// Splits "a,b,c". Throws InputError, naming `option`, if a part is empty or comes twice.
std::vector<std::string> SplitList(std::string_view text, std::string_view option);

/// Returns a table as lines of text. `columns` has the cells of each column from top to bottom, as
/// many in each. The first column is aligned to the left, the others to the right.
std::string TextTable(std::span<const std::vector<std::string>> columns);

}  // namespace tandem
