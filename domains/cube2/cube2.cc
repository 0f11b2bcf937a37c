// The 2x2x2 cube, in the quarter-turn metric and in the half-turn metric.
//
// The cube has no centres, so a turn of one face equals a turn of the opposite face and a rotation
// of the whole cube. Turns of U, R and F are therefore enough. They never move the corner at the
// bottom, back and left (DBL), so there is a single goal, and there are 3,674,160 states.
#include <array>
#include <string>

#include "cube/cube.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// The stickers of the corner that never moves, and the colours that they must show.
constexpr std::array<std::uint8_t, 3> kFixed = {14, 23, 18};
constexpr std::string_view kFixedColours = "DBL";

constexpr cube::CubeKind kKind = {.size = 2,
                                  .name = "cube2",
                                  .title = "Pocket Cube 2x2x2",
                                  .turns_of = " of U, R and F",
                                  .faces = "URF"};

class Cube2 final : public cube::Cube {
 public:
  Cube2(cube::Metric metric, cube::Input input) : Cube(kKind, metric, input) {}

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

TANDEM_REGISTER_DOMAIN(cube2, cube::InputParameter(),
                       cube::Make<Cube2, cube::Metric::kQuarterTurns>);
TANDEM_REGISTER_DOMAIN(cube2_htm, cube::InputParameter(),
                       cube::Make<Cube2, cube::Metric::kHalfTurns>);

}  // namespace
}  // namespace tandem
