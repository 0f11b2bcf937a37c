// Puzzles that a YAML file describes by their permutations. The text of a state is the labels by
// position, separated by spaces.
#define XXH_INLINE_ALL
#include "tandem/permutation.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "permutation/puzzle_file.h"
#include "permutation/shipped.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

/// Orbits knows which positions the moves of a puzzle bring to which others, and which of them
/// always move together, as the stickers of a piece do. Immutable.
class Orbits {
 public:
  Orbits(std::vector<std::uint8_t> goal, const std::vector<Permutation>& permutations);

  /// Says why no moves lead from `state` to the goal, and what helps; "" if its labels do not show
  /// it. A puzzle can have states that pass and yet cannot be solved. Requires the labels of the
  /// goal, in any order. `labels` are their names.
  std::string WhyUnreachable(std::span<const std::uint8_t> state,
                             const std::vector<std::string>& labels) const;

 private:
  // The labels at positions that move together. GCC 12 warns without reason where it compares
  // vectors of bytes.
  using Piece = std::vector<std::uint16_t>;

  // The places that the contents of one position reach. A place has that position first, and then
  // the positions that move together with it, in an order that moves keep.
  struct Orbit {
    std::vector<std::vector<std::uint8_t>> places;
    std::map<Piece, int> pieces;  // how often each occurs in the goal
  };

  // The number of labels of each kind in `state`, by orbit.
  std::vector<std::vector<int>> LabelsOf(std::span<const std::uint8_t> state) const;

  std::string Fault(std::span<const std::uint8_t> state,
                    const std::vector<std::string>& labels) const;

  static std::string FaultOfPieces(const Orbit& orbit, std::span<const std::uint8_t> state,
                                   const std::vector<std::string>& labels);

  // Names for the labels with which `state` has no fault, by label; empty if there are none.
  std::vector<std::uint8_t> OtherNames(std::span<const std::uint8_t> state,
                                       const std::vector<std::string>& labels) const;

  const std::vector<std::uint8_t> goal_;
  const std::size_t num_labels_;
  std::vector<Orbit> orbits_;
};

template <class Number>
std::vector<Number> At(std::span<const std::uint8_t> state,
                       const std::vector<std::uint8_t>& place) {
  std::vector<Number> labels;
  labels.reserve(place.size());
  for (const std::uint8_t position : place) labels.push_back(state[position]);
  return labels;
}

// The places that moves bring the contents of `start` to. `targets` are the moves: the position
// that each position's contents go to.
std::vector<std::vector<std::uint8_t>> PlacesOf(std::uint8_t start,
                                                const std::vector<Permutation>& targets) {
  const std::size_t size = targets.front().size();
  // For each position that is reached: where one way to it brings everything.
  std::vector<Permutation> ways(size);
  ways[start].resize(size);
  std::iota(ways[start].begin(), ways[start].end(), std::uint8_t{0});
  std::vector<std::uint8_t> reached = {start};
  // A position moves together with `start` if every way that brings `start` to the same position
  // also brings it to the same position.
  std::vector<bool> is_tied(size, true);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Permutation& target : targets) {
      Permutation way;
      for (const std::uint8_t position : ways[reached[i]]) way.push_back(target[position]);
      Permutation& first = ways[way[start]];
      if (first.empty()) {
        reached.push_back(way[start]);
        first = std::move(way);
        continue;
      }
      for (std::size_t q = 0; q < size; ++q) is_tied[q] = is_tied[q] && first[q] == way[q];
    }
  }
  std::vector<std::uint8_t> together = {start};
  for (std::size_t q = 0; q < size; ++q) {
    // If several places of `start` have `q` at the same position, it is not a part of the piece.
    std::set<std::uint8_t> places;
    for (const std::uint8_t position : reached) places.insert(ways[position][q]);
    if (q != start && is_tied[q] && places.size() == reached.size()) {
      together.push_back(static_cast<std::uint8_t>(q));
    }
  }
  std::vector<std::vector<std::uint8_t>> places;
  places.reserve(reached.size());
  for (const std::uint8_t position : reached) {
    places.push_back(At<std::uint8_t>(ways[position], together));
  }
  return places;
}

Orbits::Orbits(std::vector<std::uint8_t> goal, const std::vector<Permutation>& permutations)
    : goal_(std::move(goal)), num_labels_(std::size_t{1} + *std::ranges::max_element(goal_)) {
  std::vector<Permutation> targets;
  targets.reserve(permutations.size());
  for (const Permutation& permutation : permutations) targets.push_back(Inverse(permutation));
  std::vector<bool> seen(goal_.size(), false);
  for (std::size_t start = 0; start < goal_.size(); ++start) {
    if (seen[start]) continue;
    Orbit& orbit = orbits_.emplace_back();
    orbit.places = PlacesOf(static_cast<std::uint8_t>(start), targets);
    for (const std::vector<std::uint8_t>& place : orbit.places) {
      seen[place.front()] = true;
      ++orbit.pieces[At<std::uint16_t>(goal_, place)];
    }
  }
}

std::vector<std::vector<int>> Orbits::LabelsOf(std::span<const std::uint8_t> state) const {
  std::vector<std::vector<int>> all;
  for (const Orbit& orbit : orbits_) {
    std::vector<int>& counts = all.emplace_back(num_labels_, 0);
    for (const std::vector<std::uint8_t>& place : orbit.places) ++counts[state[place.front()]];
  }
  return all;
}

std::string Orbits::Fault(std::span<const std::uint8_t> state,
                          const std::vector<std::string>& labels) const {
  const std::vector<std::vector<int>> found = LabelsOf(state);
  const std::vector<std::vector<int>> expected = LabelsOf(goal_);
  for (std::size_t i = 0; i < orbits_.size(); ++i) {
    for (const std::vector<std::uint8_t>& place : orbits_[i].places) {
      const std::size_t at = place.front();
      const std::size_t label = state[at];
      if (found[i][label] <= expected[i][label] || label == goal_[at]) continue;
      const std::string is = "position " + std::to_string(at) + " is " + labels[label];
      if (orbits_[i].places.size() == 1) {
        return is + ", expected " + labels[goal_[at]] + ", because no move changes this position";
      }
      return is + ", and the " + std::to_string(orbits_[i].places.size()) +
             " positions that moves bring to it have " + labels[label] + " " +
             std::to_string(found[i][label]) + " times, expected " +
             std::to_string(expected[i][label]);
    }
  }
  for (const Orbit& orbit : orbits_) {
    std::string fault = FaultOfPieces(orbit, state, labels);
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string Orbits::FaultOfPieces(const Orbit& orbit, std::span<const std::uint8_t> state,
                                  const std::vector<std::string>& labels) {
  std::map<Piece, int> pieces;
  for (const std::vector<std::uint8_t>& place : orbit.places) {
    const Piece piece = At<std::uint16_t>(state, place);
    const auto in_goal = orbit.pieces.find(piece);
    const int most = in_goal == orbit.pieces.end() ? 0 : in_goal->second;
    if (++pieces[piece] <= most) continue;
    std::string positions;
    std::string names;
    for (std::size_t i = 0; i < place.size(); ++i) {
      positions += std::to_string(place[i]) + " ";
      names += " " + labels[piece[i]];
    }
    std::string message = "positions ";
    message.append(positions).append("always move together and have").append(names);
    if (most == 0) return message.append(", which no piece of the goal has");
    message.append(", which the goal has only ").append(std::to_string(most));
    return message.append(most == 1 ? " time" : " times");
  }
  return "";
}

// A label can stand for another one only if it occurs as often in every orbit. Which labels pieces
// have decides among the remaining choices.
std::vector<std::uint8_t> Orbits::OtherNames(std::span<const std::uint8_t> state,
                                             const std::vector<std::string>& labels) const {
  const std::vector<std::vector<int>> found = LabelsOf(state);
  const std::vector<std::vector<int>> expected = LabelsOf(goal_);
  std::vector<std::uint8_t> names;
  int tries = 1000;
  const std::function<bool()> complete = [&] {
    if (names.size() == num_labels_) {
      std::vector<std::uint8_t> renamed;
      for (const std::uint8_t label : state) renamed.push_back(names[label]);
      --tries;
      return Fault(renamed, labels).empty();
    }
    for (std::size_t name = 0; name < num_labels_ && tries > 0; ++name) {
      bool fits = std::ranges::find(names, name) == names.end();
      for (std::size_t i = 0; fits && i < orbits_.size(); ++i) {
        fits = found[i][names.size()] == expected[i][name];
      }
      if (!fits) continue;
      names.push_back(static_cast<std::uint8_t>(name));
      if (complete()) return true;
      names.pop_back();
    }
    return false;
  };
  if (!complete()) names.clear();
  return names;
}

std::string Orbits::WhyUnreachable(std::span<const std::uint8_t> state,
                                   const std::vector<std::string>& labels) const {
  const std::string fault = Fault(state, labels);
  if (fault.empty()) return "";
  std::string message = fault + ": no moves lead from this state to the goal";
  // Only labels that occur several times can be colours of faces, and only pieces tell faces apart.
  const bool has_colours = std::ranges::all_of(
      goal_, [&](std::uint8_t label) { return std::ranges::count(goal_, label) > 1; });
  const bool has_pieces = std::ranges::any_of(
      orbits_, [](const Orbit& orbit) { return orbit.places.front().size() > 1; });
  if (!has_colours || !has_pieces) return message;
  const std::vector<std::uint8_t> names = OtherNames(state, labels);
  if (names.empty()) return message;
  message += ", but a turn of the whole puzzle helps: held like this, its labels are";
  for (std::size_t label = 0; label < names.size(); ++label) {
    if (names[label] != label) message += " " + labels[label] + "=" + labels[names[label]];
  }
  message += ", and it reads";
  for (const std::uint8_t label : state) message += " " + labels[names[label]];
  return message;
}

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
