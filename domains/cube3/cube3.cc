// Rubik's Cube, 3x3x3, in the quarter-turn metric and in the half-turn metric. No move changes the
// six centres.
#include <array>
#include <memory>
#include <string>

#include "cube/cube.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

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
      if (state[kCentres[face]] != face) ThrowWrongCentre(state, face);
    }
    pieces().CheckReachable(state);
  }

 private:
  [[noreturn]] void ThrowWrongCentre(std::span<const std::uint8_t> state, std::size_t face) const {
    std::string message = std::string("the centre of face ") + cube::kFaces[face] + " is " +
                          cube::kFaces[state[kCentres[face]]] + ", expected " + cube::kFaces[face] +
                          ": hold the cube so that each centre is on its own face";
    const std::string rotated = TextIfRotated(state, kCentres);
    if (!rotated.empty()) message += ", and it reads " + rotated;
    throw InputError(message);
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
