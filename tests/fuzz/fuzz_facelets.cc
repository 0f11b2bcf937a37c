// Fuzzes states of cubes, also in other programs' notations, and of puzzles with numbers as states.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "domains/cube/notations.h"
#include "fuzz/round_trip.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// A state that is read as a cube must be written back in the notation that it was read in.
void RewriteIfCube(std::string_view text, cube::Notation from) {
  std::string ours;
  try {
    ours = cube::Rewrite(text, from, cube::Notation::kFacelets);
  } catch (const InputError&) {
    return;
  }
  const std::string theirs = cube::Rewrite(ours, cube::Notation::kFacelets, from);
  if (cube::Rewrite(theirs, from, cube::Notation::kFacelets) != ours) std::abort();
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto cube3 = tandem::MakeDomain("cube3");
  static const auto cube2 = tandem::MakeDomain("cube2");
  static const auto tiles = tandem::MakeDomain("npuzzle:3");
  static const auto lights = tandem::MakeDomain("lights_out:3");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const tandem::Domain* domain : {cube3.get(), cube2.get(), tiles.get(), lights.get()}) {
    tandem::RoundTripIfState(*domain, text);
  }
  tandem::RewriteIfCube(text, tandem::cube::Notation::kDeepCubeA);
  tandem::RewriteIfCube(text, tandem::cube::Notation::kDeepXube);
  return 0;
}
