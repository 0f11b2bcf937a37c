#include "permutation/orbits.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace tandem {
namespace {

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

}  // namespace

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

}  // namespace tandem
