#include "cube/pieces.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "cube/geometry.h"
#include "tandem/error.h"

namespace tandem::cube {
namespace {

using State = std::span<const std::uint8_t>;

// The stickers of one small cube, in the order of Place::stickers.
std::vector<std::uint8_t> InOrder(std::vector<std::uint8_t> stickers,
                                  const std::vector<Sticker>& all) {
  const auto out = [&](std::size_t i) { return all[stickers[i]].out; };
  if (stickers.size() == 3 && Dot(Cross(out(0), out(1)), out(2)) > 0) {
    std::swap(stickers[1], stickers[2]);
  }
  const auto first = std::ranges::max_element(stickers, {}, [&](std::uint8_t sticker) {
    return 2 * std::abs(all[sticker].out.y) + std::abs(all[sticker].out.z);
  });
  std::rotate(stickers.begin(), first, stickers.end());
  return stickers;
}

// The small cubes that have `stickers` stickers.
std::vector<Place> PlacesWith(std::size_t num_stickers, int size) {
  const std::vector<Sticker> all = Stickers(size);
  const std::vector<std::uint8_t> solved = Solved(size);
  std::vector<Place> places;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::uint8_t> stickers;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (all[j].cube == all[i].cube) stickers.push_back(static_cast<std::uint8_t>(j));
    }
    if (stickers.size() != num_stickers || stickers[0] != i) continue;
    Place place{.stickers = InOrder(std::move(stickers), all)};
    for (const std::uint8_t sticker : place.stickers) {
      place.colours.push_back(solved[sticker]);
      place.name += kFaces[solved[sticker]];
    }
    places.push_back(std::move(place));
  }
  return places;
}

// The contents of a place: a piece, and by how many stickers it is turned there (clockwise).
struct Placed {
  std::size_t piece = 0;
  std::size_t turned = 0;
};

std::string KindOf(const Place& place) { return place.stickers.size() == 3 ? "corner" : "edge"; }

std::string Facelets(const Place& place) {
  std::string text;
  for (const std::uint8_t sticker : place.stickers) {
    text += (text.empty() ? "" : " ") + std::to_string(sticker + 1);
  }
  return text;
}

std::string Shown(const Place& place, State state) {
  std::string text;
  for (const std::uint8_t sticker : place.stickers) {
    if (!text.empty()) text += ' ';
    text += kFaces[state[sticker]];
  }
  return text;
}

// Explains why no cube has a piece of these colours.
std::string WhyImpossible(const Place& place, State state) {
  for (const std::uint8_t first : place.stickers) {
    for (const std::uint8_t second : place.stickers) {
      if (first >= second) continue;
      const int a = state[first];
      const int b = state[second];
      if (a == b) return "no piece has a colour twice";
      if (a % 3 == b % 3) {
        return std::string{kFaces[a]} + " and " + kFaces[b] +
               " are colours of opposite faces, which have no piece in common";
      }
    }
  }
  return "on a real cube these colours go the other way round; are two of them exchanged?";
}

Placed PieceAt(const Place& place, State state, const std::vector<Place>& places) {
  std::vector<std::uint8_t> shown;
  for (const std::uint8_t sticker : place.stickers) shown.push_back(state[sticker]);
  for (std::size_t turned = 0; turned < shown.size(); ++turned) {
    const auto piece = std::ranges::find(places, shown, &Place::colours);
    if (piece != places.end()) {
      return {.piece = static_cast<std::size_t>(piece - places.begin()), .turned = turned};
    }
    std::rotate(shown.begin(), shown.begin() + 1, shown.end());
  }
  throw InputError("the " + KindOf(place) + " at " + place.name + ", facelets " + Facelets(place) +
                   ", shows " + Shown(place, state) + ": " + WhyImpossible(place, state));
}

[[noreturn]] void ThrowDuplicatePiece(const Place& piece, const Place& first, const Place& second,
                                      const Place& missing) {
  throw InputError("the " + KindOf(piece) + " " + piece.name + " occurs twice, at " + first.name +
                   " (facelets " + Facelets(first) + ") and at " + second.name + " (facelets " +
                   Facelets(second) + "), and the " + KindOf(piece) + " " + missing.name +
                   " is missing");
}

// The contents of each place. Throws InputError if a piece does not exist or occurs twice.
std::vector<Placed> Identify(const std::vector<Place>& places, State state) {
  std::vector<Placed> all;
  all.reserve(places.size());
  for (const Place& place : places) all.push_back(PieceAt(place, state, places));
  for (std::size_t second = 0; second < all.size(); ++second) {
    const auto first = std::ranges::find(all, all[second].piece, &Placed::piece) - all.begin();
    if (first == static_cast<std::ptrdiff_t>(second)) continue;
    std::size_t missing = 0;
    while (std::ranges::count(all, missing, &Placed::piece) > 0) ++missing;
    ThrowDuplicatePiece(places[all[second].piece], places[first], places[second], places[missing]);
  }
  return all;
}

std::size_t Turned(const std::vector<Placed>& all) {
  std::size_t sum = 0;
  for (const Placed& placed : all) sum += placed.turned;
  return sum;
}

// The number of swaps of two pieces that sort the pieces.
std::size_t Swaps(std::vector<Placed> all) {
  std::size_t swaps = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (; all[i].piece != i; ++swaps) std::swap(all[i], all[all[i].piece]);
  }
  return swaps;
}

// The greatest number that Code returns for any bytes.
constexpr std::size_t kGreatestCode = std::size_t{255} * (36 + 6 + 1);

// A sequence of colours as a number in base 6.
std::size_t Code(std::span<const std::uint8_t> colours) {
  std::size_t code = 0;
  for (const std::uint8_t colour : colours) code = 6 * code + colour;
  return code;
}

// Returns, for each sequence of colours that a place can show, the number of the placement: which
// piece is there and how it is turned. The table covers any bytes, so WritePlacements need not
// check them; states use only its first few entries.
std::vector<std::uint8_t> PlacementsOf(const std::vector<Place>& places) {
  std::vector<std::uint8_t> placements(kGreatestCode + 1, Pieces::kNoPlacement);
  for (std::uint8_t number = 0; !places.empty() && number < Pieces::kPlacements; ++number) {
    placements[Code(Pieces::Shown(places, number))] = number;
  }
  return placements;
}

std::vector<std::uint8_t> StickersOf(const std::vector<Place>& places) {
  std::vector<std::uint8_t> stickers;
  for (const Place& place : places) {
    stickers.insert(stickers.end(), place.stickers.begin(), place.stickers.end());
  }
  return stickers;
}

}  // namespace

Pieces::Pieces(int size)
    : corners_(PlacesWith(3, size)),
      edges_(PlacesWith(2, size)),
      corner_stickers_(StickersOf(corners_)),
      edge_stickers_(StickersOf(edges_)),
      corner_placings_(PlacementsOf(corners_)),
      edge_placings_(PlacementsOf(edges_)) {}

std::vector<std::uint8_t> Pieces::Shown(const std::vector<Place>& kind, std::size_t placement) {
  const std::size_t ways = kind.front().stickers.size();
  std::vector<std::uint8_t> shown = kind[placement / ways].colours;
  const auto turned = static_cast<std::ptrdiff_t>(placement % ways);
  std::rotate(shown.begin(), shown.begin() + turned, shown.end());
  return shown;
}

std::uint8_t Pieces::PlacementOf(std::span<const std::uint8_t> colours) const {
  return (colours.size() == 3 ? corner_placings_ : edge_placings_)[Code(colours)];
}

void Pieces::WritePlacements(State state, std::span<std::uint8_t> placements) const {
  std::size_t place = 0;
  const std::vector<std::uint8_t>& c = corner_stickers_;
  for (std::size_t i = 0; i < c.size(); i += 3) {
    placements[place++] =
        corner_placings_[36 * state[c[i]] + 6 * state[c[i + 1]] + state[c[i + 2]]];
  }
  const std::vector<std::uint8_t>& e = edge_stickers_;
  for (std::size_t i = 0; i < e.size(); i += 2) {
    placements[place++] = edge_placings_[6 * state[e[i]] + state[e[i + 1]]];
  }
}

// No turn changes these three sums: the twists of all corners modulo 3, the number of flipped edges
// modulo 2, and the number of swaps that sort corners and edges together modulo 2. The sums do not
// say which piece is wrong, so the message lets the user fix any one.
void Pieces::CheckReachable(State state) const {
  const std::vector<Placed> corners = Identify(corners_, state);
  const std::vector<Placed> edges = Identify(edges_, state);
  std::string faults;
  std::string remedies;
  const auto find_fault = [&](const char* fault, const char* remedy) {
    faults += (faults.empty() ? "" : " and ") + std::string(fault);
    remedies += (remedies.empty() ? "" : " and ") + std::string(remedy);
  };
  if (Turned(edges) % 2 != 0) find_fault("one edge is flipped", "turn any one edge over");
  if (Turned(corners) % 3 == 1) {
    find_fault("one corner is twisted clockwise", "twist any one corner anticlockwise");
  }
  if (Turned(corners) % 3 == 2) {
    find_fault("one corner is twisted anticlockwise", "twist any one corner clockwise");
  }
  if (!edges.empty() && (Swaps(corners) + Swaps(edges)) % 2 != 0) {
    find_fault("two pieces are swapped", "exchange any two edges");
  }
  if (faults.empty()) return;
  throw InputError(faults + ": no turns solve this cube; check the facelets, and if they are " +
                   "right, take the cube apart and " + remedies);
}

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
