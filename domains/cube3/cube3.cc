// Rubik's Cube, 3x3x3, in the quarter-turn metric. Nothing moves the six centres, so each stays on
// its own face.
#include <array>
#include <memory>
#include <string>

#include "cube/cube.h"
#include "cube/stickers.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::array<std::uint8_t, 6> kCentres = {4, 13, 22, 31, 40, 49};

DomainSpec Spec() {
  return {.name = "cube3",
          .summary =
              "Rubik's Cube 3x3x3, quarter turns; a state is 54 facelets, faces in the "
              "order URFDLB",
          .action_names = {"U", "U'", "D", "D'", "L", "L'", "R", "R'", "B", "B'", "F", "F'"}};
}

class Cube3 final : public cube::Cube {
 public:
  explicit Cube3(cube::Input input) : Cube(Spec(), 3, input) {}

  void ParseState(std::string_view text, std::span<std::uint8_t> state) const override {
    ReadColours(text, state);
    for (std::size_t face = 0; face < kCentres.size(); ++face) {
      if (state[kCentres[face]] != face) HeldOtherwise(state, face);
    }
    pieces().CheckReachable(state);
  }

 private:
  [[noreturn]] void HeldOtherwise(std::span<const std::uint8_t> state, std::size_t face) const {
    std::string message = std::string("the centre of face ") + cube::kFaces[face] + " is " +
                          cube::kFaces[state[kCentres[face]]] + ", expected " + cube::kFaces[face] +
                          ": hold the cube so that each centre is on its own face";
    const std::string held_so = HeldSo(state, kCentres);
    if (!held_so.empty()) message += ", and it reads " + held_so;
    throw InputError(message);
  }
};

std::unique_ptr<const Domain> Make(const std::string& argument) {
  const std::optional<cube::Input> input = cube::ParseInput(argument);
  return input ? std::make_unique<const Cube3>(*input) : nullptr;
}

TANDEM_REGISTER_DOMAIN(cube3, cube::InputParameter(), Make);

}  // namespace
}  // namespace tandem
