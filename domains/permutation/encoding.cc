#include "permutation/encoding.h"

#include <algorithm>
#include <map>
#include <string>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kBytes = 256;  // that a node of a tree tells apart

}  // namespace

LabelBytes::LabelBytes(std::size_t num_labels) {
  if (num_labels <= 256) return;
  while (base_ * base_ < num_labels) ++base_;
}

std::vector<std::uint8_t> LabelBytes::Write(std::span<const std::uint16_t> labels) const {
  std::vector<std::uint8_t> state;
  for (const std::uint16_t label : labels) {
    if (base_ != 0) state.push_back(static_cast<std::uint8_t>(label / base_));
    state.push_back(static_cast<std::uint8_t>(base_ == 0 ? label : label % base_));
  }
  return state;
}

std::vector<std::uint16_t> LabelBytes::Read(std::span<const std::uint8_t> state) const {
  if (base_ == 0) return {state.begin(), state.end()};
  std::vector<std::uint16_t> labels;
  for (std::size_t i = 0; i + 1 < state.size(); i += 2) {
    const bool are_digits = state[i] < base_ && state[i + 1] < base_;
    labels.push_back(are_digits ? static_cast<std::uint16_t>(state[i] * base_ + state[i + 1])
                                : kNoLabel);
  }
  return labels;
}

std::vector<Permutation> LabelBytes::OfBytes(const std::vector<Permutation>& permutations) const {
  std::vector<Permutation> of_bytes;
  for (const Permutation& permutation : permutations) {
    Permutation& bytes = of_bytes.emplace_back();
    for (const std::size_t from : permutation) {
      for (std::size_t k = 0; k < per_label(); ++k) {
        bytes.push_back(static_cast<std::uint16_t>(from * per_label() + k));
      }
    }
  }
  return of_bytes;
}

PieceInput::PieceInput(const std::vector<std::vector<Place>>& orbits,
                       std::span<const std::uint16_t> goal)
    : bytes_(std::size_t{1} + *std::ranges::max_element(goal)) {
  AddNode();
  // The orbit of each position, and the place that begins with it.
  std::vector<std::pair<std::size_t, const Place*>> places(goal.size());
  std::vector<std::size_t> starts(orbits.size());
  for (std::size_t o = 0; o < orbits.size(); ++o) {
    for (const Place& place : orbits[o]) places[place.front()] = {o, &place};
  }
  std::vector<bool> is_read(goal.size());
  bool has_pieces = false;
  for (const auto& [o, place] : places) {
    if (is_read[place->front()] || orbits[o].size() == 1) continue;
    if (starts[o] == 0) starts[o] = AddPieces(orbits[o], goal);
    Reading& reading = readings_.emplace_back(Reading{.start = starts[o], .bytes = {}});
    for (const std::size_t position : *place) {
      is_read[position] = true;
      for (std::size_t k = 0; k < bytes_.per_label(); ++k) {
        reading.bytes.push_back(static_cast<std::uint16_t>(position * bytes_.per_label() + k));
      }
    }
    has_pieces = has_pieces || place->size() > 1;
  }
  if (!has_pieces) {
    throw InputError(
        "no two positions always move together, so there are no pieces for the network to read; "
        "set domain.input to stickers");
  }
}

std::size_t PieceInput::AddNode() {
  tree_.resize(tree_.size() + kBytes);
  return tree_.size() - kBytes;
}

// Adds the pieces that come to the places of an orbit, and returns where to start.
std::size_t PieceInput::AddPieces(const std::vector<Place>& places,
                                  std::span<const std::uint16_t> goal) {
  const std::size_t start = AddNode();
  std::map<std::vector<std::uint16_t>, std::size_t> numbers;
  for (const Place& place : places) {
    std::vector<std::uint16_t> piece;
    for (const std::uint16_t position : place) piece.push_back(goal[position]);
    const auto [known, is_new] = numbers.try_emplace(piece, numbers.size());
    const std::vector<std::uint8_t> shown = bytes_.Write(piece);
    std::size_t node = start;
    for (std::size_t k = 0; k + 1 < shown.size(); ++k) {
      if (tree_[node + shown[k]] == 0) {
        const std::size_t child = AddNode();
        tree_[node + shown[k]] = static_cast<std::uint32_t>(child);
      }
      node = tree_[node + shown[k]];
    }
    tree_[node + shown.back()] = static_cast<std::uint32_t>(known->second);
  }
  if (numbers.size() > kBytes) {
    throw InputError(std::to_string(numbers.size()) + " different pieces come to position " +
                     std::to_string(places.front().front()) +
                     ", and a network reads at most 256 as pieces; set domain.input to stickers");
  }
  depth_ = std::max(depth_, static_cast<int>(numbers.size()));
  return start;
}

InputLayout PieceInput::layout() const {
  return {.positions = static_cast<int>(readings_.size()), .depth = depth_};
}

void PieceInput::Write(std::span<const std::uint8_t> state, std::span<std::uint8_t> input) const {
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    std::size_t at = readings_[i].start;
    for (const std::uint16_t byte : readings_[i].bytes) at = tree_[at + state[byte]];
    input[i] = static_cast<std::uint8_t>(at);
  }
}

}  // namespace tandem
