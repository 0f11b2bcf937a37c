#include "cube/cube.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem::cube {
namespace {

// The usual colours of the faces U R F D L B.
constexpr std::array<std::int32_t, 6> kPalette = {0xf8f8f8, 0xc41e3a, 0x009e60,
                                                  0xffd500, 0xff7f27, 0x1f5fd0};

// The position of a face in the unfolded cube, in faces to the right and down.
constexpr std::array<std::array<int, 2>, 6> kUnfolded = {
    {{1, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 1}, {3, 1}}};

// The letter of a colour; '?' for a byte that is not a colour.
char LetterOf(std::uint8_t colour) { return colour < kFaces.size() ? kFaces[colour] : '?'; }

// The letters of the colours, in the order of the faces: U R F D L B. A text with other letters,
// such as W for white, names them by its six centres.
std::string NamesOfColours(std::string_view text, int size) {
  std::string centres;
  const bool is_usual = text.find_first_not_of(kFaces) == std::string_view::npos;
  for (std::size_t i = 4; size == 3 && !is_usual && i < text.size(); i += 9) {
    if (centres.find(text[i]) == std::string::npos) centres += text[i];
  }
  return centres.size() == kFaces.size() ? centres : std::string(kFaces);
}

// A move as people write it: of the layer of a face, of all layers but the opposite one, of the
// layer between these two, or of the whole cube.
struct WrittenMove {
  enum Kind : std::uint8_t { kFace, kWide, kSlice, kRotation };
  Kind kind = kFace;
  std::size_t face = 0;  // the move goes in the direction of this face
  int quarters = 0;      // clockwise
};

std::size_t Opposite(std::size_t face) { return (face + 3) % kFaces.size(); }

// Removes a move from the beginning of `text`, which is not empty. Returns nothing if it begins
// with something else.
std::optional<WrittenMove> TakeMove(std::string_view& text) {
  // By kind and face. '?' stands for a move that has no name.
  constexpr std::string_view kNames = "URFDLBurfdlb??SEM?yxz???";
  const std::size_t name = kNames.find(text[0]);
  if (name == std::string_view::npos || text[0] == '?') return std::nullopt;
  const auto take = [&](std::string_view what) {
    const bool found = text.starts_with(what);
    if (found) text.remove_prefix(what.size());
    return found;
  };
  text.remove_prefix(1);
  WrittenMove move{.kind = static_cast<WrittenMove::Kind>(name / kFaces.size()),
                   .face = name % kFaces.size()};
  if (move.kind == WrittenMove::kFace && take("w")) move.kind = WrittenMove::kWide;
  const auto take_prime = [&] { return take("'") || take("\u2019") || take("\u2032"); };
  bool is_prime = take_prime();
  move.quarters = take("2") ? 2 : take("3") ? 3 : 1;
  is_prime = take_prime() || is_prime;
  if (is_prime) move.quarters = 4 - move.quarters;
  return move;
}

// Reads the moves of a text. Throws InputError that names the first one that the cube cannot make.
std::vector<WrittenMove> TakeMoves(std::string_view text, const DomainSpec& spec, int size) {
  constexpr std::string_view kIgnored = " \t\r\n()";
  std::vector<WrittenMove> moves;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kIgnored), text.size()));
    if (text.empty()) return moves;
    const std::string_view word = text.substr(0, text.find_first_of(kIgnored));
    const std::optional<WrittenMove> move = TakeMove(text);
    const bool is_possible = move && (size == 3 || move->kind == WrittenMove::kFace ||
                                      move->kind == WrittenMove::kRotation);
    if (!is_possible) {
      throw InputError("move " + std::to_string(moves.size() + 1) + " is " + "'" +
                       std::string(word.substr(0, 40)) + "', expected one of " +
                       ShortList(spec.action_names, " ") + ", half turns (R2), rotations (x y z)" +
                       (size == 3 ? ", wide turns (r or Rw) or slices (M E S)" : ""));
    }
    moves.push_back(*move);
  }
}

bool HasTurns(const DomainSpec& spec, std::size_t face) {
  return std::ranges::count(spec.action_names, std::string(1, kFaces[face])) > 0;
}

// Appends a turn of a face. A half turn is two quarter turns if the cube has no half turns.
void AppendTurn(const DomainSpec& spec, std::size_t face, int quarters,
                std::vector<Action>& actions) {
  std::string name(1, kFaces[face]);
  if (quarters == 3) name += "'";
  if (quarters == 2 && std::ranges::count(spec.action_names, name + "2") > 0) name += "2";
  const auto action = std::ranges::find(spec.action_names, name) - spec.action_names.begin();
  actions.insert(actions.end(), quarters == 2 && name.size() == 1 ? 2 : 1,
                 static_cast<Action>(action));
}

// View says which face of a cube that stays where it is takes the place of each face, after
// rotations of the whole cube.
class View {
 public:
  std::size_t operator[](std::size_t face) const { return faces_[face]; }

  // Rotates the whole cube clockwise, as seen at `face`.
  void Rotate(std::size_t face, int quarters) {
    // The faces that a rotation about U, R or F moves, each to the place of the next.
    constexpr std::array<std::array<std::size_t, 4>, 3> kCycles = {
        {{2, 4, 5, 1}, {2, 0, 5, 3}, {0, 1, 3, 4}}};
    const std::array<std::size_t, 4>& cycle = kCycles[face % 3];
    for (int i = face < 3 ? quarters : 4 - quarters; i > 0; --i) {
      for (std::size_t step = 3; step > 0; --step) {
        std::swap(faces_[cycle[step]], faces_[cycle[step - 1]]);
      }
    }
  }

 private:
  std::array<std::size_t, 6> faces_ = {0, 1, 2, 3, 4, 5};
};

DomainSpec Spec(const CubeKind& kind, Metric metric, Input input) {
  const bool half_turns = metric == Metric::kHalfTurns;
  DomainSpec spec{.name = std::string(kind.name) + (half_turns ? "_htm" : ""),
                  .summary = std::string(kind.title) +
                             (half_turns ? ", quarter and half turns" : ", quarter turns") +
                             kind.turns_of + "; a state is " +
                             std::to_string(NumStickers(kind.size)) +
                             " facelets, faces in the order URFDLB",
                  .action_names = MoveNames(kind.faces, half_turns)};
  if (input == Input::kStickers) return spec;
  const Pieces pieces(kind.size);
  spec.name += input == Input::kPieces ? ":pieces" : ":pairs";
  spec.input = {.positions = pieces.NumPlaces(), .depth = Pieces::kPlacements};
  if (input == Input::kPairs) spec.input.positions += Pairs(pieces).Num();
  return spec;
}

}  // namespace

DomainParameter InputParameter() {
  return {.key = "input",
          .meaning =
              "the network's input: the colour of each sticker, the piece in each place, or "
              "also how neighbouring pieces lie relative to each other",
          .expected = "stickers, pieces or pairs",
          .default_value = "stickers"};
}

std::optional<Input> ParseInput(const std::string& argument) {
  if (argument == "stickers") return Input::kStickers;
  if (argument == "pieces") return Input::kPieces;
  if (argument == "pairs") return Input::kPairs;
  return std::nullopt;
}

Cube::Cube(const CubeKind& kind, Metric metric, Input input)
    : PermutationDomain(Spec(kind, metric, input), Solved(kind.size),
                        Turns(kind.size, MoveNames(kind.faces, metric == Metric::kHalfTurns))),
      size_(kind.size),
      input_(input),
      solved_(Solved(kind.size)),
      pieces_(kind.size),
      pairs_(input == Input::kPairs ? std::optional<Pairs>(pieces_) : std::nullopt) {}

void Cube::ReadColours(std::string_view text, std::span<std::uint8_t> state) const {
  std::string letters;
  for (const std::string_view word : Words(text)) letters += word;
  if (letters.size() != state.size()) {
    throw InputError((size_ == 3 ? "a cube has " : "a 2x2x2 cube has ") +
                     std::to_string(state.size()) + " facelets, found " +
                     std::to_string(letters.size()));
  }
  const std::string names = NamesOfColours(letters, size_);
  std::array<int, 6> count{};
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::size_t colour = names.find(letters[i]);
    if (colour == std::string::npos) {
      throw InputError("facelet " + std::to_string(i + 1) + " is " + Quoted(letters[i]) +
                       ", expected one of U R F D L B");
    }
    state[i] = static_cast<std::uint8_t>(colour);
    ++count[colour];
  }
  for (std::size_t face = 0; face < count.size(); ++face) {
    if (count[face] == StickersPerFace(size_)) continue;
    throw InputError(std::string("colour ") + kFaces[face] + " is on " +
                     std::to_string(count[face]) + " facelets, expected " +
                     std::to_string(StickersPerFace(size_)));
  }
}

std::string Cube::TextIfRotated(std::span<const std::uint8_t> state,
                                std::span<const std::uint8_t> stickers) const {
  for (const Permutation& rotation : Rotations(size_)) {
    const auto fits = [&](std::uint8_t sticker) {
      return state[rotation[sticker]] == solved_[sticker];
    };
    if (!std::ranges::all_of(stickers, fits)) continue;
    std::string text;
    for (const std::uint8_t from : rotation) text += kFaces[state[from]];
    return text;
  }
  return "";
}

std::vector<Action> Cube::ParseMoves(std::string_view moves, std::string_view /*start*/) const {
  std::vector<Action> actions;
  View view;
  for (const WrittenMove& move : TakeMoves(moves, spec(), size_)) {
    const std::size_t face = view[move.face];
    // A cube with two layers lacks turns of some faces. All layers but the opposite one are the
    // same.
    const bool is_missing = move.kind == WrittenMove::kFace && !HasTurns(spec(), face);
    const auto kind = is_missing ? WrittenMove::kWide : move.kind;
    if (kind == WrittenMove::kFace) AppendTurn(spec(), face, move.quarters, actions);
    if (kind == WrittenMove::kSlice) AppendTurn(spec(), face, 4 - move.quarters, actions);
    if (kind == WrittenMove::kWide || kind == WrittenMove::kSlice) {
      AppendTurn(spec(), Opposite(face), move.quarters, actions);
    }
    if (kind != WrittenMove::kFace) view.Rotate(move.face, move.quarters);
  }
  return actions;
}

void Cube::Encode(ConstRows states, Rows inputs) const {
  if (input_ == Input::kStickers) return Domain::Encode(states, inputs);
  const auto places = static_cast<std::size_t>(pieces_.NumPlaces());
  for (std::size_t i = 0; i < states.size(); ++i) {
    pieces_.WritePlacements(states[i], inputs[i]);
    if (pairs_) pairs_->Write(inputs[i].first(places), inputs[i].subspan(places));
  }
}

std::string Cube::FormatState(std::span<const std::uint8_t> state) const {
  std::string text;
  for (const std::uint8_t colour : state) text += LetterOf(colour);
  return text;
}

Picture Cube::Draw(std::span<const std::uint8_t> state) const {
  // The gap between faces: in a terminal a space between columns of faces, none between rows.
  constexpr float kGapAcross = 0.5F;
  constexpr float kGapDown = 0.2F;
  Picture picture;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const auto face = i / static_cast<std::size_t>(StickersPerFace(size_));
    const int on_face = static_cast<int>(i) % StickersPerFace(size_);
    const auto [right, down] = kUnfolded[face];
    const int row = on_face / size_;
    const float left = static_cast<float>(right) * (static_cast<float>(size_) + kGapAcross);
    const float top = static_cast<float>(down) * (static_cast<float>(size_) + kGapDown);
    const bool is_colour = state[i] < kPalette.size();
    picture.cells.push_back({.x = left + static_cast<float>(on_face % size_),
                             .y = top + static_cast<float>(row),
                             .text = std::string(1, LetterOf(state[i])),
                             .colour = is_colour ? kPalette[state[i]] : Cell::kPlain});
  }
  return picture;
}

}  // namespace tandem::cube
