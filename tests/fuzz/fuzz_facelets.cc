// Fuzzes states of cubes, and of puzzles with numbers as states.
#include <cstdint>
#include <string_view>

#include "fuzz/round_trip.h"
#include "tandem/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto cube3 = tandem::MakeDomain("cube3");
  static const auto cube2 = tandem::MakeDomain("cube2");
  static const auto tiles = tandem::MakeDomain("npuzzle:3");
  static const auto lights = tandem::MakeDomain("lights_out:3");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const tandem::Domain* domain : {cube3.get(), cube2.get(), tiles.get(), lights.get()}) {
    tandem::RoundTripIfState(*domain, text);
  }
  return 0;
}
