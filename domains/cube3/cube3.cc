// Rubik's Cube, 3x3x3, in the quarter-turn metric and in the half-turn metric. No move changes the
// six centres.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cube/cube.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::size_t kPerFace = 9;
constexpr std::array<std::uint8_t, 6> kCentres = {4, 13, 22, 31, 40, 49};

DomainSpec Spec(cube::Metric metric) {
  const bool half_turns = metric == cube::Metric::kHalfTurns;
  return {.name = half_turns ? "cube3_htm" : "cube3",
          .summary = std::string("Rubik's Cube 3x3x3, ") +
                     (half_turns ? "quarter and half turns" : "quarter turns") +
                     "; a state is 54 facelets, faces in the order URFDLB",
          .action_names = cube::MoveNames("UDLRBF", half_turns)};
}

class Cube3 final : public cube::Cube {
 public:
  Cube3(cube::Metric metric, cube::Input input) : Cube(Spec(metric), 3, input) {}

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

template <cube::Metric kMetric>
std::unique_ptr<const Domain> Make(const std::string& argument) {
  const std::optional<cube::Input> input = cube::ParseInput(argument);
  return input ? std::make_unique<const Cube3>(kMetric, *input) : nullptr;
}

TANDEM_REGISTER_DOMAIN(cube3, cube::InputParameter(), Make<cube::Metric::kQuarterTurns>);
TANDEM_REGISTER_DOMAIN(cube3_htm, cube::InputParameter(), Make<cube::Metric::kHalfTurns>);

}  // namespace
}  // namespace tandem
