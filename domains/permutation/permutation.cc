// Puzzles that a YAML file describes by their permutations. The text of a state is the labels by
// position, separated by spaces.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "permutation/orbits.h"
#include "permutation/puzzle_file.h"
#include "permutation/shipped.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

// A hash of everything that networks and examples depend on. The drawing and the names of labels
// and moves are not part of it.
std::string HashOfRules(const PuzzleFile& puzzle) {
  std::string rules(puzzle.goal.begin(), puzzle.goal.end());
  for (const Permutation& permutation : puzzle.permutations) {
    rules.append(permutation.begin(), permutation.end());
  }
  const auto* costs = reinterpret_cast<const char*>(puzzle.costs.data());
  rules.append(costs, puzzle.costs.size() * sizeof(float));
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(rules.data(), rules.size())));
  return digits.data();
}

DomainSpec Spec(const std::string& name, const PuzzleFile& puzzle) {
  return {
      .name = "permutation:" + name,
      .summary = puzzle.summary.empty() ? "a puzzle of permutations, from " + name : puzzle.summary,
      .version = HashOfRules(puzzle),
      .action_names = puzzle.names,
      .action_costs = puzzle.costs};
}

class PermutationPuzzle final : public PermutationDomain {
 public:
  PermutationPuzzle(const std::string& name, PuzzleFile puzzle)
      : PermutationDomain(Spec(name, puzzle), puzzle.goal, puzzle.permutations),
        puzzle_(std::move(puzzle)),
        orbits_(puzzle_.goal, puzzle_.permutations) {}

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    const auto are_labels = [&](const std::vector<std::string_view>& words) {
      return std::ranges::all_of(words, [&](std::string_view word) {
        return std::ranges::find(puzzle_.labels, word) != puzzle_.labels.end();
      });
    };
    std::vector<std::string_view> words = Words(text);
    if (!are_labels(words) && are_labels(NumberWords(text))) words = NumberWords(text);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto at = std::ranges::find(puzzle_.labels, words[i]) - puzzle_.labels.begin();
      if (std::cmp_equal(at, puzzle_.labels.size())) {
        throw InputError("position " + std::to_string(i) + " is " + Quoted(words[i]) +
                         ", expected a label of the goal: " + ShortList(puzzle_.labels, ", "));
      }
      if (i < state.size()) state[i] = static_cast<std::uint8_t>(at);
    }
    if (words.size() != state.size()) {
      throw InputError("expected " + std::to_string(state.size()) +
                       " labels separated by spaces, found " + std::to_string(words.size()));
    }
    CheckCounts(state);
    const std::string why = orbits_.WhyUnreachable(state, puzzle_.labels);
    if (!why.empty()) throw InputError(why);
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    std::string text;
    for (const std::uint8_t label : state) {
      if (!text.empty()) text += ' ';
      text += LabelOf(label);
    }
    return text;
  }

  Picture Draw(std::span<const std::uint8_t> state) const override {
    if (puzzle_.layout.empty()) return Domain::Draw(state);
    Picture picture;
    for (std::size_t i = 0; i < state.size(); ++i) {
      const auto [x, y] = puzzle_.layout[i];
      const bool coloured = state[i] < puzzle_.colours.size();
      const std::int32_t colour = coloured ? puzzle_.colours[state[i]] : Cell::kPlain;
      const std::string label = LabelOf(state[i]);
      picture.cells.push_back({.x = x, .y = y, .text = label, .colour = colour});
      picture.unit_width = std::max(picture.unit_width, static_cast<int>(label.size()) + 1);
    }
    return picture;
  }

 private:
  // Returns the label of a byte, or "?255" if byte 255 has no label.
  std::string LabelOf(std::uint8_t byte) const {
    return byte < puzzle_.labels.size() ? puzzle_.labels[byte]
                                        : std::string("?").append(std::to_string(byte));
  }

  // Checks that each label occurs as often as in the goal.
  void CheckCounts(std::span<const std::uint8_t> state) const {
    for (std::size_t label = 0; label < puzzle_.labels.size(); ++label) {
      const auto found = std::ranges::count(state, label);
      const auto expected = std::ranges::count(puzzle_.goal, label);
      if (found == expected) continue;
      throw InputError("label " + puzzle_.labels[label] + " occurs " + std::to_string(found) +
                       " times, expected " + std::to_string(expected) + ", as in the goal");
    }
  }

  const PuzzleFile puzzle_;
  const Orbits orbits_;
};

std::string ShippedNames() {
  std::string names;
  for (const ShippedPuzzle& puzzle : kShippedPuzzles) {
    names += (names.empty() ? "" : ", ") + std::string(puzzle.name);
  }
  return names;
}

std::unique_ptr<const Domain> Make(const std::string& argument) {
  if (argument.empty()) return nullptr;
  for (const ShippedPuzzle& puzzle : kShippedPuzzles) {
    if (argument != puzzle.name) continue;
    return MakePuzzle(argument, ParsePuzzle(std::string(puzzle.text), argument + ".yaml"));
  }
  std::ifstream in;
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(argument, error);
  if (is_file) in.open(argument);  // a pipe might never end
  if (!in.is_open()) {
    const bool is_missing = error == std::errc::no_such_file_or_directory;
    const std::string reason = error && !is_missing ? " (" + error.message() + ")" : "";
    throw InputError(argument + " cannot be read" + reason + ": expected a YAML file, or one of " +
                     ShippedNames());
  }
  std::string text(kMostPuzzleBytes + 1, '\0');  // ParsePuzzle rejects a text of that size
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw InputError(argument + " cannot be read to its end");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return MakePuzzle(argument, ParsePuzzle(text, argument));
}

TANDEM_REGISTER_DOMAIN(permutation,
                       DomainParameter{.key = "file",
                                       .meaning = "a YAML file that lists the permutations, or the "
                                                  "name of a puzzle that comes with Tandem",
                                       .expected = "a file, or one of " + ShippedNames(),
                                       .default_value = "lrx",
                                       .is_file = true},
                       Make);

}  // namespace

std::unique_ptr<const Domain> MakePuzzle(const std::string& name, PuzzleFile puzzle) {
  return std::make_unique<const PermutationPuzzle>(name, std::move(puzzle));
}

}  // namespace tandem
