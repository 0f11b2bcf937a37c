// Fuzzes levels of Sokoban and mazes.
#include "fuzz/round_trip.h"
#include "tandem/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto sokoban = tandem::MakeDomain("sokoban:7");
  static const auto grid = tandem::MakeDomain("grid:6");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tandem::RoundTripIfState(*sokoban, text);
  tandem::RoundTripIfState(*grid, text);
  return 0;
}
