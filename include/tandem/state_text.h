// Helpers for reading and writing states as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// `text` without leading and trailing white space.
std::string_view Trimmed(std::string_view text);

/// The words of `text`, separated by white space. The results point into `text`.
std::vector<std::string_view> Words(std::string_view text);

/// The words of `text`, separated by white space, commas, semicolons or brackets, as in arrays and
/// tables. The results point into `text`.
std::vector<std::string_view> NumberWords(std::string_view text);

/// Quotes a character or word for a message. Returns "the byte 195" or "not printable" instead if a
/// terminal or JSON could not show it.
std::string Quoted(char letter);
std::string Quoted(std::string_view word);

/// Joins the first 20 words, for a message. If there are more, "... (4,096 in all)" follows.
std::string ShortList(std::span<const std::string> words, std::string_view separator);

/// Reads numbers separated as NumberWords separates them: state.size() of them, each below `depth`.
/// Throws InputError that names the wrong number.
void ParseNumbers(std::string_view text, int depth, std::span<std::uint8_t> state);

/// Writes a state as numbers separated by spaces, which ParseNumbers reads.
std::string FormatNumbers(std::span<const std::uint8_t> state);

}  // namespace tandem
