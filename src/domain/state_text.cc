#include "tandem/state_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::vector<std::string_view> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(separators), text.size()));
    if (text.empty()) return words;
    words.push_back(text.substr(0, text.find_first_of(separators)));
    text.remove_prefix(words.back().size());
  }
}

bool IsPrintable(char letter) { return letter >= 0x20 && letter < 0x7f; }

std::optional<std::uint8_t> NumberBelow(int depth, std::string_view word) {
  const int number = ParseNumber<int>(word).value_or(-1);
  if (number < 0 || number >= depth) return std::nullopt;
  return static_cast<std::uint8_t>(number);
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::vector<std::string_view> Words(std::string_view text) { return Split(text, kSpace); }

std::vector<std::string_view> NumberWords(std::string_view text) {
  return Split(text, " \t\r\n,;[](){}");
}

std::string Quoted(char letter) {
  if (IsPrintable(letter)) return fmt::format("'{}'", letter);
  return fmt::format("the byte {}", static_cast<unsigned char>(letter));
}

std::string Quoted(std::string_view word) {
  return std::ranges::all_of(word, IsPrintable) ? fmt::format("'{}'", word) : "not printable";
}

std::string ShortList(std::span<const std::string> words, std::string_view separator) {
  constexpr std::size_t kMost = 20;
  if (words.size() <= kMost) return fmt::format("{}", fmt::join(words, separator));
  return fmt::format("{}{}... ({} in all)", fmt::join(words.first(kMost), separator), separator,
                     WithThousands(std::ssize(words)));
}

void ParseNumbers(std::string_view text, int depth, std::span<std::uint8_t> state) {
  const std::vector<std::string_view> words = NumberWords(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::optional<std::uint8_t> number = NumberBelow(depth, words[i]);
    if (!number) {
      throw InputError(fmt::format("number {} is {}, expected a whole number from 0 to {}", i + 1,
                                   Quoted(words[i]), depth - 1));
    }
    if (i < state.size()) state[i] = *number;
  }
  if (words.size() != state.size()) {
    throw InputError(fmt::format("expected {} numbers separated by spaces, found {}", state.size(),
                                 words.size()));
  }
}

std::string FormatNumbers(std::span<const std::uint8_t> state) {
  return fmt::format("{}", fmt::join(state, " "));
}

}  // namespace tandem
