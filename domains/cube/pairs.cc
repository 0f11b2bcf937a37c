#include "cube/pairs.h"

#include <algorithm>
#include <array>

namespace tandem::cube {
namespace {

constexpr std::size_t kPlacements = Pieces::kPlacements;

// Pieces that share two faces touch.
bool AreNeighbours(const Place& a, const Place& b) {
  return std::ranges::count_if(a.colours, [&](std::uint8_t colour) {
           return std::ranges::count(b.colours, colour) > 0;
         }) == 2;
}

// Opposite faces are three apart in the order URFDLB.
std::uint8_t Opposite(std::uint8_t face) { return static_cast<std::uint8_t>((face + 3) % 6); }

// What each colour becomes if the cube is held so that a corner that shows `shown`, clockwise,
// shows `solved` instead.
std::array<std::uint8_t, 6> Recolouring(const std::vector<std::uint8_t>& shown,
                                        const std::vector<std::uint8_t>& solved) {
  std::array<std::uint8_t, 6> becomes{};
  for (std::size_t i = 0; i < shown.size(); ++i) {
    becomes[shown[i]] = solved[i];
    becomes[Opposite(shown[i])] = Opposite(solved[i]);
  }
  return becomes;
}

}  // namespace

Pairs::Pairs(const Pieces& pieces) {
  for (std::size_t corner = 0; corner < pieces.corners().size(); ++corner) {
    AddPairs(pieces, corner);
  }
  // Write may look up Pieces::kNoPlacement twice, which is beyond the last table.
  tables_.resize(tables_.size() + kPlacements + 1);
}

// The pairs of the corner at place `first`. Of two corners, the later one is the first piece.
void Pairs::AddPairs(const Pieces& pieces, std::size_t first) {
  const std::vector<Place>& corners = pieces.corners();
  const std::vector<Place>& edges = pieces.edges();
  const Place& place = corners[first];
  std::size_t table = tables_.size();
  AddTable(pieces, place, corners);
  for (std::size_t i = 0; i < first; ++i) {
    if (AreNeighbours(place, corners[i])) pairs_.push_back({first, i, table});
  }
  table = tables_.size();
  if (!edges.empty()) AddTable(pieces, place, edges);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (AreNeighbours(place, edges[i])) pairs_.push_back({first, corners.size() + i, table});
  }
}

// The table of the pairs of the corner at `first` with pieces of one kind.
void Pairs::AddTable(const Pieces& pieces, const Place& first, const std::vector<Place>& kind) {
  for (std::size_t a = 0; a < kPlacements; ++a) {
    const auto becomes = Recolouring(Pieces::Shown(pieces.corners(), a), first.colours);
    for (std::size_t b = 0; b < kPlacements; ++b) {
      std::vector<std::uint8_t> colours = Pieces::Shown(kind, b);
      for (std::uint8_t& colour : colours) colour = becomes[colour];
      tables_.push_back(pieces.PlacementOf(colours));
    }
  }
}

void Pairs::Write(std::span<const std::uint8_t> placements,
                  std::span<std::uint8_t> relative) const {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const auto& [first, second, table] = pairs_[i];
    relative[i] = tables_[table + kPlacements * placements[first] + placements[second]];
  }
}

}  // namespace tandem::cube
