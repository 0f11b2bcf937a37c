// Rubik's Cube, 3x3x3, in the quarter-turn metric and in the half-turn metric. No move changes the
// six centres.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cube/cube.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kPerFace = 9;
constexpr std::array<std::uint8_t, 6> kCentres = {4, 13, 22, 31, 40, 49};

constexpr cube::CubeKind kKind = {
    .size = 3, .name = "cube3", .title = "Rubik's Cube 3x3x3", .turns_of = "", .faces = "UDLRBF"};

class Cube3 final : public cube::Cube {
 public:
  Cube3(cube::Metric metric, cube::Input input) : Cube(kKind, metric, input) {}

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    ReadColours(text, state);
    for (std::size_t face = 0; face < kCentres.size(); ++face) {
      if (state[kCentres[face]] == face) continue;
      ReadOtherOrder(state, WrongCentre(state, face));
      return;
    }
    pieces().CheckReachable(state);
  }

 private:
  static std::string WrongCentre(std::span<const std::uint8_t> state, std::size_t face) {
    return std::string("the centre of face ") + cube::kFaces[face] + " is " +
           cube::kFaces[state[kCentres[face]]] + ", expected " + cube::kFaces[face] +
           ": hold the cube so that each centre is on its own face";
  }

  // Reads a state whose faces are in another order, such as U R F L B D, by their centres. Throws
  // InputError that begins with `fault` if it is not such a state. If the centres are those of a
  // cube that is held another way, there is no other order.
  void ReadOtherOrder(std::span<std::uint8_t> state, const std::string& fault) const {
    const std::string rotated = TextIfRotated(state, kCentres);
    if (!rotated.empty()) throw InputError(fault + ", and it reads " + rotated);
    std::string order;
    for (const std::uint8_t centre : kCentres) order += cube::kFaces[state[centre]];
    if (!std::ranges::is_permutation(order, cube::kFaces)) throw InputError(fault);
    const std::vector<std::uint8_t> read(state.begin(), state.end());
    for (std::size_t i = 0; i < read.size(); ++i) {
      const std::size_t face = read[kCentres[i / kPerFace]];
      state[kPerFace * face + i % kPerFace] = read[i];
    }
    try {
      pieces().CheckReachable(state);
    } catch (const InputError& error) {
      throw InputError(fault + "; with its faces in the order " + order + ", " + error.what());
    }
  }
};

TANDEM_REGISTER_DOMAIN(cube3, cube::InputParameter(),
                       cube::Make<Cube3, cube::Metric::kQuarterTurns>);
TANDEM_REGISTER_DOMAIN(cube3_htm, cube::InputParameter(),
                       cube::Make<Cube3, cube::Metric::kHalfTurns>);

}  // namespace
}  // namespace tandem
