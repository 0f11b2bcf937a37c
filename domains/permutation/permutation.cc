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
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "permutation/encoding.h"
#include "permutation/puzzle_file.h"
#include "permutation/shipped.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

using Labels = std::span<const std::uint16_t>;

// The labels at the positions of a piece.
using Piece = std::vector<std::uint16_t>;

template <class Key>
using Counts = std::map<Key, int>;

template <class Key>
int CountOf(const Counts<Key>& counts, const Key& key) {
  const auto at = counts.find(key);
  return at == counts.end() ? 0 : at->second;
}

/// Orbits knows which positions the moves of a puzzle bring to which others, and which of them
/// always move together, as the stickers of a piece do. Immutable.
class Orbits {
 public:
  Orbits(std::vector<std::uint16_t> goal, const std::vector<Permutation>& permutations);

  /// Says why no moves lead from `state` to the goal, and what helps; "" if its labels do not show
  /// it. A puzzle can have states that pass and yet cannot be solved. Requires the labels of the
  /// goal, in any order. `labels` are their names.
  std::string WhyUnreachable(Labels state, const std::vector<std::string>& labels) const;

  /// The places by orbit. A place has the positions of one piece.
  std::vector<std::vector<Place>> places() const {
    std::vector<std::vector<Place>> all;
    for (const Orbit& orbit : orbits_) all.push_back(orbit.places);
    return all;
  }

 private:
  // The places that the contents of one position reach, each with the positions of one piece.
  struct Orbit {
    std::vector<Place> places;
    Counts<std::uint16_t> labels;  // how often each occurs in the goal
    Counts<Piece> pieces;          // how often each occurs in the goal
  };

  static Counts<std::uint16_t> LabelsOf(const Orbit& orbit, Labels state);

  std::string Fault(Labels state, const std::vector<std::string>& labels) const;

  static std::string FaultOfPieces(const Orbit& orbit, Labels state,
                                   const std::vector<std::string>& labels);

  // Names for the labels with which `state` has no fault, by label; empty if there are none.
  std::vector<std::uint16_t> OtherNames(Labels state, const std::vector<std::string>& labels) const;

  const std::vector<std::uint16_t> goal_;
  const std::size_t num_labels_;
  std::vector<Orbit> orbits_;
};

Piece At(Labels state, const Place& place) {
  Piece piece;
  for (const std::uint16_t position : place) piece.push_back(state[position]);
  return piece;
}

// Keeps the positions of one piece: for each position of the first, the others have another one.
void KeepOnePiece(std::vector<Place>& places) {
  std::size_t kept = 1;
  for (std::size_t k = 1; k < places.front().size(); ++k) {
    std::set<std::uint16_t> positions;
    for (const Place& place : places) positions.insert(place[k]);
    if (positions.size() < places.size()) continue;
    for (Place& place : places) place[kept] = place[k];
    ++kept;
  }
  for (Place& place : places) place.resize(kept);
}

Orbits::Orbits(std::vector<std::uint16_t> goal, const std::vector<Permutation>& permutations)
    : goal_(std::move(goal)), num_labels_(std::size_t{1} + *std::ranges::max_element(goal_)) {
  for (std::vector<Place>& places : FindOrbits(permutations)) {
    KeepOnePiece(places);
    Orbit& orbit = orbits_.emplace_back();
    for (const Place& place : places) ++orbit.pieces[At(goal_, place)];
    orbit.places = std::move(places);
    orbit.labels = LabelsOf(orbit, goal_);
  }
}

Counts<std::uint16_t> Orbits::LabelsOf(const Orbit& orbit, Labels state) {
  Counts<std::uint16_t> counts;
  for (const Place& place : orbit.places) ++counts[state[place.front()]];
  return counts;
}

std::string Orbits::Fault(Labels state, const std::vector<std::string>& labels) const {
  for (const Orbit& orbit : orbits_) {
    const Counts<std::uint16_t> counts = LabelsOf(orbit, state);
    for (const Place& place : orbit.places) {
      const std::size_t at = place.front();
      const std::uint16_t label = state[at];
      const int found = CountOf(counts, label);
      const int expected = CountOf(orbit.labels, label);
      if (found <= expected || label == goal_[at]) continue;
      const std::string is = "position " + std::to_string(at) + " is " + labels[label];
      if (orbit.places.size() == 1) {
        return is + ", expected " + labels[goal_[at]] + ", because no move changes this position";
      }
      return is + ", and the " + std::to_string(orbit.places.size()) +
             " positions that moves bring to it have " + labels[label] + " " +
             std::to_string(found) + " times, expected " + std::to_string(expected);
    }
  }
  for (const Orbit& orbit : orbits_) {
    std::string fault = FaultOfPieces(orbit, state, labels);
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string Orbits::FaultOfPieces(const Orbit& orbit, Labels state,
                                  const std::vector<std::string>& labels) {
  Counts<Piece> pieces;
  for (const Place& place : orbit.places) {
    const Piece piece = At(state, place);
    const int most = CountOf(orbit.pieces, piece);
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
std::vector<std::uint16_t> Orbits::OtherNames(Labels state,
                                              const std::vector<std::string>& labels) const {
  // By label, how often it occurs in each orbit.
  std::vector<Counts<std::size_t>> found(num_labels_);
  std::vector<Counts<std::size_t>> expected(num_labels_);
  for (std::size_t i = 0; i < orbits_.size(); ++i) {
    for (const auto& [label, count] : LabelsOf(orbits_[i], state)) found[label][i] = count;
    for (const auto& [label, count] : orbits_[i].labels) expected[label][i] = count;
  }
  std::vector<std::uint16_t> names;
  std::vector<bool> taken(num_labels_);
  int tries = 5'000;  // of the first names, too, because there may be factorially many
  const std::function<bool()> complete = [&] {
    --tries;
    if (names.size() == num_labels_) {
      std::vector<std::uint16_t> renamed;
      for (const std::uint16_t label : state) renamed.push_back(names[label]);
      return Fault(renamed, labels).empty();
    }
    for (std::size_t name = 0; name < num_labels_ && tries > 0; ++name) {
      if (taken[name] || found[names.size()] != expected[name]) continue;
      names.push_back(static_cast<std::uint16_t>(name));
      taken[name] = true;
      if (complete()) return true;
      taken[name] = false;
      names.pop_back();
    }
    return false;
  };
  if (!complete()) names.clear();
  return names;
}

std::string Orbits::WhyUnreachable(Labels state, const std::vector<std::string>& labels) const {
  const std::string fault = Fault(state, labels);
  if (fault.empty()) return "";
  std::string message = fault + ": no moves lead from this state to the goal";
  // Only labels that occur several times can be colours of faces, and only pieces tell faces apart.
  const bool has_colours = std::ranges::all_of(
      goal_, [&](std::uint16_t label) { return std::ranges::count(goal_, label) > 1; });
  const bool has_pieces = std::ranges::any_of(
      orbits_, [](const Orbit& orbit) { return orbit.places.front().size() > 1; });
  if (!has_colours || !has_pieces || num_labels_ > 256) return message;
  const std::vector<std::uint16_t> names = OtherNames(state, labels);
  if (names.empty()) return message;
  message += ", but a turn of the whole puzzle helps: held like this, its labels are";
  for (std::size_t label = 0; label < names.size(); ++label) {
    if (names[label] != label) message += " " + labels[label] + "=" + labels[names[label]];
  }
  message += ", and it reads";
  for (const std::uint16_t label : state) message += " " + labels[names[label]];
  return message;
}

// A hash of everything that networks and examples depend on. The drawing and the names of labels
// and moves are not part of it.
std::string HashOfRules(const PuzzleFile& puzzle, bool reads_pieces) {
  std::string rules = reads_pieces ? "pieces" : "";
  const auto append = [&](const std::vector<std::uint16_t>& numbers) {
    for (const std::uint16_t number : numbers) {
      rules += static_cast<char>(number);
      if (numbers.size() > 256) rules += static_cast<char>(number >> 8);
    }
  };
  append(puzzle.goal);
  for (const Permutation& permutation : puzzle.permutations) append(permutation);
  const auto* costs = reinterpret_cast<const char*>(puzzle.costs.data());
  rules.append(costs, puzzle.costs.size() * sizeof(float));
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(rules.data(), rules.size())));
  return digits.data();
}

DomainSpec Spec(const std::string& name, const PuzzleFile& puzzle,
                const std::optional<PieceInput>& pieces) {
  return {
      .name = "permutation:" + name,
      .summary = puzzle.summary.empty() ? "a puzzle of permutations, from " + name : puzzle.summary,
      .version = HashOfRules(puzzle, pieces.has_value()),
      .input = pieces ? pieces->layout() : InputLayout(),
      .action_names = puzzle.names,
      .action_costs = puzzle.costs};
}

class PermutationPuzzle final : public PermutationDomain {
 public:
  PermutationPuzzle(const std::string& name, PuzzleFile puzzle, Orbits orbits,
                    std::optional<PieceInput> pieces)
      : PermutationDomain(Spec(name, puzzle, pieces),
                          LabelBytes(puzzle.labels.size()).Write(puzzle.goal),
                          LabelBytes(puzzle.labels.size()).OfBytes(puzzle.permutations)),
        puzzle_(std::move(puzzle)),
        orbits_(std::move(orbits)),
        pieces_(std::move(pieces)),
        bytes_(puzzle_.labels.size()) {
    for (const std::string& label : puzzle_.labels) numbers_.emplace(label, numbers_.size());
  }

  void Encode(ConstRows states, Rows inputs) const override {
    if (!pieces_) return Domain::Encode(states, inputs);
    for (std::size_t i = 0; i < states.size(); ++i) pieces_->Write(states[i], inputs[i]);
  }

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    const auto are_labels = [&](const std::vector<std::string_view>& words) {
      return std::ranges::all_of(words,
                                 [&](std::string_view word) { return numbers_.contains(word); });
    };
    std::vector<std::string_view> words = Words(text);
    if (!are_labels(words) && are_labels(NumberWords(text))) words = NumberWords(text);
    std::vector<std::uint16_t> labels;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto at = numbers_.find(words[i]);
      if (at == numbers_.end()) {
        throw InputError("position " + std::to_string(i) + " is " + Quoted(words[i]) +
                         ", expected a label of the goal: " + ShortList(puzzle_.labels, ", "));
      }
      labels.push_back(static_cast<std::uint16_t>(at->second));
    }
    if (labels.size() != puzzle_.goal.size()) {
      throw InputError("expected " + std::to_string(puzzle_.goal.size()) +
                       " labels separated by spaces, found " + std::to_string(labels.size()));
    }
    CheckCounts(labels);
    const std::string why = orbits_.WhyUnreachable(labels, puzzle_.labels);
    if (!why.empty()) throw InputError(why);
    std::ranges::copy(bytes_.Write(labels), state.begin());
  }

  std::string FormatState(std::span<const std::uint8_t> state) const override {
    std::string text;
    for (const std::uint16_t label : bytes_.Read(state)) {
      if (!text.empty()) text += ' ';
      text += LabelOf(label);
    }
    return text;
  }

  Picture Draw(std::span<const std::uint8_t> state) const override {
    if (puzzle_.layout.empty()) return Domain::Draw(state);
    Picture picture;
    const std::vector<std::uint16_t> labels = bytes_.Read(state);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto [x, y] = puzzle_.layout[i];
      const bool coloured = labels[i] < puzzle_.colours.size();
      const std::int32_t colour = coloured ? puzzle_.colours[labels[i]] : Cell::kPlain;
      const std::string label = LabelOf(labels[i]);
      picture.cells.push_back({.x = x, .y = y, .text = label, .colour = colour});
      picture.unit_width = std::max(picture.unit_width, static_cast<int>(label.size()) + 1);
    }
    return picture;
  }

 private:
  // Returns the label of a number, or "?255" if there is no label 255.
  std::string LabelOf(std::uint16_t number) const {
    return number < puzzle_.labels.size() ? puzzle_.labels[number]
                                          : std::string("?").append(std::to_string(number));
  }

  // Checks that each label occurs as often as in the goal.
  void CheckCounts(Labels labels) const {
    std::vector<int> found(puzzle_.labels.size());
    std::vector<int> expected(puzzle_.labels.size());
    for (const std::uint16_t label : labels) ++found[label];
    for (const std::uint16_t label : puzzle_.goal) ++expected[label];
    for (std::size_t label = 0; label < found.size(); ++label) {
      if (found[label] == expected[label]) continue;
      throw InputError("label " + puzzle_.labels[label] + " occurs " +
                       std::to_string(found[label]) + " times, expected " +
                       std::to_string(expected[label]) + ", as in the goal");
    }
  }

  const PuzzleFile puzzle_;
  const Orbits orbits_;
  const std::optional<PieceInput> pieces_;
  const LabelBytes bytes_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of the labels
};

std::string ShippedNames() {
  std::string names;
  for (const ShippedPuzzle& puzzle : kShippedPuzzles) {
    names += (names.empty() ? "" : ", ") + std::string(puzzle.name);
  }
  return names;
}

std::ifstream Open(const std::string& file, const std::string& expected) {
  std::ifstream in;
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(file, error);
  if (is_file) in.open(file);  // a pipe might never end
  if (in.is_open()) return in;
  const bool is_missing = error == std::errc::no_such_file_or_directory;
  const std::string reason = error && !is_missing ? " (" + error.message() + ")" : "";
  throw InputError(file + " cannot be read" + reason + ": expected " + expected);
}

// Returns the text of a puzzle file, or of a puzzle of the tables in a folder.
std::string ReadPuzzle(const std::string& argument) {
  constexpr std::string_view kTable = ".csv";
  if (argument.ends_with(kTable)) {
    throw InputError(
        argument + " is a table of puzzles, expected the type of one of them behind it, such as " +
        argument + "#cube_3/3/3");
  }
  if (const std::size_t at = argument.find(".csv#"); at != std::string::npos) {
    const std::filesystem::path table = argument.substr(0, at + kTable.size());
    std::ifstream moves = Open(table.string(), "a table of moves");
    std::ifstream goals =
        Open((table.parent_path() / "puzzles.csv").string(), "the table of goals");
    return YamlOfTables(moves, goals, argument.substr(at + kTable.size() + 1));
  }
  std::ifstream in = Open(argument, "a YAML file, or one of " + ShippedNames());
  std::string text(kMostPuzzleBytes + 1, '\0');  // ParsePuzzle rejects a text of that size
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw InputError(argument + " cannot be read to its end");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

std::unique_ptr<const Domain> Make(const std::string& argument) {
  constexpr std::string_view kPieces = ":pieces";
  const bool reads_pieces = argument.ends_with(kPieces);
  const std::string file =
      argument.substr(0, argument.size() - (reads_pieces ? kPieces.size() : 0));
  if (file.empty()) return nullptr;
  for (const ShippedPuzzle& puzzle : kShippedPuzzles) {
    if (file != puzzle.name) continue;
    return MakePuzzle(argument, ParsePuzzle(std::string(puzzle.text), file + ".yaml"),
                      reads_pieces);
  }
  return MakePuzzle(argument, ParsePuzzle(ReadPuzzle(file), file), reads_pieces);
}

TANDEM_REGISTER_DOMAIN(permutation,
                       DomainParameter{.key = "file",
                                       .meaning = "a YAML file that lists the permutations, or the "
                                                  "name of a puzzle that comes with Tandem",
                                       .expected = "a file, or one of " + ShippedNames(),
                                       .default_value = "lrx",
                                       .is_file = true,
                                       .has_pieces = true},
                       Make);

}  // namespace

std::unique_ptr<const Domain> MakePuzzle(const std::string& name, PuzzleFile puzzle,
                                         bool reads_pieces) {
  Orbits orbits(puzzle.goal, puzzle.permutations);
  std::optional<PieceInput> pieces;
  try {
    if (reads_pieces) pieces.emplace(orbits.places(), puzzle.goal);
  } catch (const InputError& error) {
    throw InputError(name + ": " + error.what());
  }
  return std::make_unique<const PermutationPuzzle>(name, std::move(puzzle), std::move(orbits),
                                                   std::move(pieces));
}

}  // namespace tandem
