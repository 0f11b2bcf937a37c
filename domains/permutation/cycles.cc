#include "permutation/cycles.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "tandem/state_text.h"

namespace tandem {
namespace {

std::uint8_t ParsePosition(std::string_view word, std::size_t positions, const std::string& where) {
  std::size_t number = positions;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || number >= positions) {
    throw std::invalid_argument(where + " is " + Quoted(word) + ", expected a position from 0 to " +
                                std::to_string(positions - 1));
  }
  return static_cast<std::uint8_t>(number);
}

// Removes the next token, a parenthesis or a number, from `text` and returns it; "" at the end.
std::optional<std::string_view> NextToken(std::string_view& text) {
  constexpr std::string_view kSpace = " \t\r\n,";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  if (text.empty()) return std::nullopt;
  const bool parenthesis = text[0] == '(' || text[0] == ')';
  const std::size_t end = parenthesis ? 1 : std::min(text.find_first_of(" \t\r\n,()"), text.size());
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(end);
  return token;
}

}  // namespace

Permutation ParseCycles(std::string_view text, std::size_t positions) {
  Permutation permutation(positions);
  std::iota(permutation.begin(), permutation.end(), std::uint8_t{0});
  std::vector<bool> seen(positions, false);
  std::vector<std::uint8_t> cycle;
  std::size_t number = 0;
  bool open = false;
  while (const std::optional<std::string_view> token = NextToken(text)) {
    const std::string in_cycle = "in cycle " + std::to_string(number);
    if (*token == "(") {
      if (open) throw std::invalid_argument(in_cycle + " is not closed: expected ')'");
      open = true;
      ++number;
      cycle.clear();
    } else if (!open) {
      throw std::invalid_argument("expected '(' to begin a cycle, found " + Quoted(*token));
    } else if (*token == ")") {
      open = false;
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        permutation[cycle[(i + 1) % cycle.size()]] = cycle[i];
      }
    } else {
      const std::string where = in_cycle + ", number " + std::to_string(cycle.size() + 1);
      cycle.push_back(ParsePosition(*token, positions, where));
      if (seen[cycle.back()]) {
        throw std::invalid_argument("position " + std::string(*token) +
                                    " occurs twice in its cycles: not a permutation");
      }
      seen[cycle.back()] = true;
    }
  }
  if (open) throw std::invalid_argument("the last cycle is not closed: expected ')'");
  return permutation;
}

Permutation ParseArray(const std::vector<std::string>& numbers, std::size_t positions) {
  if (numbers.size() != positions) {
    throw std::invalid_argument(std::to_string(numbers.size()) + " positions, expected " +
                                std::to_string(positions) + ", as in the goal");
  }
  Permutation permutation;
  for (std::size_t i = 0; i < positions; ++i) {
    const std::string where = "position " + std::to_string(i);
    const std::uint8_t from = ParsePosition(numbers[i], positions, where);
    const auto other = std::ranges::find(permutation, from);
    if (other != permutation.end()) {
      throw std::invalid_argument(where + " takes from " + numbers[i] + ", as position " +
                                  std::to_string(other - permutation.begin()) +
                                  " does: not a permutation");
    }
    permutation.push_back(from);
  }
  return permutation;
}

}  // namespace tandem
