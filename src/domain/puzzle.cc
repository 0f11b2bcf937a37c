#include "tandem/puzzle.h"

#include <fmt/format.h>

#include <charconv>

namespace tandem {
namespace {

// For messages: what is not printable is not one that a terminal or JSON could show.
std::string Quoted(std::string_view word) {
  const bool printable =
      std::ranges::all_of(word, [](char letter) { return letter > 0x20 && letter < 0x7f; });
  return printable ? fmt::format("'{}'", word) : "no number";
}

}  // namespace

void ParseNumbers(std::string_view text, int depth, std::span<std::uint8_t> state) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t count = 0;
  for (std::size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos; ++count) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    int number = -1;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || stop != word.data() + word.size() || number < 0 ||
        number >= depth) {
      throw InputError(fmt::format("number {} is {}, expected a whole number from 0 to {}",
                                   count + 1, Quoted(word), depth - 1));
    }
    if (count < state.size()) state[count] = static_cast<std::uint8_t>(number);
    at = text.find_first_not_of(kSpace, end);
  }
  if (count != state.size()) {
    throw InputError(
        fmt::format("expected {} numbers separated by spaces, found {}", state.size(), count));
  }
}

std::string FormatNumbers(std::span<const std::uint8_t> state) {
  return fmt::format("{}", fmt::join(state, " "));
}

}  // namespace tandem
