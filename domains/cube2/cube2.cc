// The 2x2x2 cube, in the quarter-turn metric and in the half-turn metric.
//
// It has no centres, so a turn of one face is a turn of the opposite one and of the whole cube.
// Turns of U, R and F alone therefore do all that there is to do; they leave the corner at the
// bottom, back and left (DBL) where it is, which gives the cube a single goal and 3,674,160 states.
#include <array>
#include <memory>
#include <string>

#include "cube/cube.h"
#include "cube/stickers.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// The stickers of the corner that stays, and the colours that they show by this convention.
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
    pieces().CheckReachable(state);  // however it is held
    std::string shown;
    for (const std::uint8_t sticker : kFixed) shown += cube::kFaces[state[sticker]];
    if (shown == kFixedColours) return;
    throw InputError("the corner at the bottom, back and left shows " + shown +
                     ", expected DBL, since no move takes that corner elsewhere: hold the cube so "
                     "that its corner of the colours D, B and L is there, and it reads " +
                     HeldSo(state, kFixed));
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
