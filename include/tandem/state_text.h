// The words and numbers that a state is written in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// `text` without the white space around it.
std::string_view Trimmed(std::string_view text);

/// The words of `text`, which white space parts; they point into it.
std::vector<std::string_view> Words(std::string_view text);

/// For messages: in quotes; "the byte 195" or "not printable" where a terminal or JSON could not
/// show it.
std::string Quoted(char letter);
std::string Quoted(std::string_view word);

/// Numbers parted by white space, as many as `state` has bytes, each below `depth`. Throws
/// InputError that names the number that is wrong.
void ParseNumbers(std::string_view text, int depth, std::span<std::uint8_t> state);

/// The inverse of ParseNumbers, with a space between two numbers.
std::string FormatNumbers(std::span<const std::uint8_t> state);

}  // namespace tandem
