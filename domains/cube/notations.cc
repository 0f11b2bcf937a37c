#include "cube/notations.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "cube/geometry.h"
#include "tandem/domain.h"
#include "tandem/error.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem::cube {
namespace {

constexpr std::size_t kStickers = 54;
constexpr std::size_t kPerFace = 9;

// Our order of faces is U R F D L B; theirs is U D L R B F.
constexpr std::array<std::uint8_t, 6> kTheirFace = {0, 3, 5, 1, 2, 4};  // by our face
constexpr std::array<std::uint8_t, 6> kOurFace = {0, 3, 4, 1, 5, 2};    // by their face

// The position of our sticker `sticker` in the order of the other programs.
std::size_t TheirPosition(std::size_t sticker) {
  const std::size_t row = sticker % kPerFace / 3;
  const std::size_t column = sticker % 3;
  return kPerFace * kTheirFace[sticker / kPerFace] + 3 * column + (2 - row);
}

using Numbers = std::array<std::uint8_t, kStickers>;

// Identifies the stickers of a cube. A sticker's colour alone does not, but its colour and the
// colours of its piece do.
class StickerFinder {
 public:
  StickerFinder() : all_(Stickers(3)), solved_(Solved(3)) {
    for (std::size_t i = 0; i < kStickers; ++i) {
      by_key_[Key(solved_, i)] = static_cast<std::uint8_t>(i);
    }
  }

  // The number in the solved cube of the sticker at position `at`. Requires a state that cube3
  // accepts.
  std::uint8_t At(std::span<const std::uint8_t> state, std::size_t at) const {
    return by_key_[Key(state, at)];
  }

 private:
  std::size_t Key(std::span<const std::uint8_t> state, std::size_t at) const {
    std::size_t colours = 0;  // the colours of the piece, as bits
    for (std::size_t i = 0; i < kStickers; ++i) {
      if (all_[i].cube == all_[at].cube) colours |= std::size_t{1} << state[i];
    }
    return std::size_t{64} * state[at] + colours;
  }

  const std::vector<Sticker> all_;
  const std::vector<std::uint8_t> solved_;
  std::array<std::uint8_t, std::size_t{6} * 64> by_key_{};
};

Numbers WriteNumbers(std::span<const std::uint8_t> state, Notation to) {
  static const StickerFinder finder;
  Numbers numbers{};
  for (std::size_t i = 0; i < kStickers; ++i) {
    numbers[TheirPosition(i)] = to == Notation::kDeepXube
                                    ? kTheirFace[state[i]]
                                    : static_cast<std::uint8_t>(TheirPosition(finder.At(state, i)));
  }
  return numbers;
}

// Throws InputError if the numbers contradict `state`, which their colours determine.
void CheckStickers(const Numbers& numbers, std::span<const std::uint8_t> state) {
  const Numbers expected = WriteNumbers(state, Notation::kDeepCubeA);
  for (std::size_t i = 0; i < kStickers; ++i) {
    if (numbers[i] == expected[i]) continue;
    throw InputError("number " + std::to_string(i + 1) + " is sticker " +
                     std::to_string(numbers[i]) + ", but the colours of its piece are those of " +
                     "sticker " + std::to_string(expected[i]));
  }
}

// Reads a state in any notation. Throws InputError if no turns lead from it to the solved cube.
std::array<std::uint8_t, kStickers> ReadState(const Domain& cube3, std::string_view text,
                                              Notation from) {
  Numbers state{};
  if (from == Notation::kFacelets) {
    cube3.ParseState(text, state);
    return state;
  }
  const bool stickers = from == Notation::kDeepCubeA;
  Numbers numbers{};
  ParseNumbers(text, stickers ? static_cast<int>(kStickers) : 6, numbers);
  for (std::size_t i = 0; i < kStickers; ++i) {
    const std::size_t number = numbers[TheirPosition(i)];
    state[i] = kOurFace[stickers ? number / kPerFace : number];
  }
  const std::string facelets = cube3.FormatState(state);
  try {
    cube3.ParseState(facelets, state);
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()) +
                     " (the facelets are those of the state in Tandem's notation, " + facelets +
                     ")");
  }
  if (stickers) CheckStickers(numbers, state);
  return state;
}

}  // namespace

std::string Rewrite(std::string_view state, Notation from, Notation to) {
  static const std::unique_ptr<const Domain> cube3 = MakeDomain("cube3");
  const Numbers read = ReadState(*cube3, state, from);
  return to == Notation::kFacelets ? cube3->FormatState(read)
                                   : FormatNumbers(WriteNumbers(read, to));
}

}  // namespace tandem::cube
