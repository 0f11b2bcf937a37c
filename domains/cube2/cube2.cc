// The 2x2x2 cube, in the quarter-turn metric and in the half-turn metric.
//
// The cube has no centres, so a turn of one face equals a turn of the opposite face and a rotation
// of the whole cube. Turns of U, R and F are therefore enough. They never move the corner at the
// bottom, back and left (DBL), so there is a single goal, and there are 3,674,160 states.
#include <array>
#include <memory>
#include <string>

#include "cube/cube.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// The stickers of the corner that never moves, and the colours that they must show.
constexpr std::array<std::uint8_t, 3> kFixed = {14, 23, 18};
constexpr std::string_view kFixedColours = "DBL";

DomainSpec Spec(cube::Metric metric) {
  const bool half_turns = metric == cube::Metric::kHalfTurns;
  return {.name = half_turns ? "cube2_htm" : "cube2",
          .summary = std::string("Pocket Cube 2x2x2, ") +
                     (half_turns ? "quarter and half turns" : "quarter turns") +
                     " of U, R and F; a state is 24 facelets, faces in the order URFDLB",
          .action_names = cube::MoveNames("URF", half_turns)};
}

class Cube2 final : public cube::Cube {
 public:
  Cube2(cube::Metric metric, cube::Input input) : Cube(Spec(metric), 2, input) {}

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    ReadColours(text, state);
    pieces().CheckReachable(state);  // first, because this does not depend on how the cube is held
    std::string shown;
    for (const std::uint8_t sticker : kFixed) shown += cube::kFaces[state[sticker]];
    if (shown == kFixedColours) return;
    throw InputError("the corner at the bottom, back and left shows " + shown +
                     ", expected DBL, because no move moves that corner: hold the cube so that its "
                     "corner with the colours D, B and L is there; then it reads " +
                     TextIfRotated(state, kFixed));
  }
};

template <cube::Metric kMetric>
std::unique_ptr<const Domain> Make(const std::string& argument) {
  const std::optional<cube::Input> input = cube::ParseInput(argument);
  return input ? std::make_unique<const Cube2>(kMetric, *input) : nullptr;
}

TANDEM_REGISTER_DOMAIN(cube2, cube::InputParameter(), Make<cube::Metric::kQuarterTurns>);
TANDEM_REGISTER_DOMAIN(cube2_htm, cube::InputParameter(), Make<cube::Metric::kHalfTurns>);

}  // namespace
}  // namespace tandem
