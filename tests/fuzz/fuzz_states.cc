// Fuzzes files of states, as JSON lines and as plain text, of a puzzle with one line per state and
// of one with several. A state that is read must survive being written and read back.
#include <memory>

#include "fuzz/as_file.h"
#include "fuzz/round_trip.h"
#include "search/problems.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

void Read(const std::filesystem::path& file, const Domain& domain) {
  try {
    for (const Problem& problem : ReadStates(file, domain, /*limit=*/20)) {
      if (problem.error.empty() != !problem.state.empty()) std::abort();
      if (problem.error.empty()) MustRoundTrip(domain, problem.state);
    }
  } catch (const InputError&) {
  }
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto tiles = tandem::MakeDomain("npuzzle:3");
  static const auto sokoban = tandem::MakeDomain("sokoban:7");
  const tandem::AsFile file(tandem::AsText(data, size));
  tandem::Read(file.path(), *tiles);
  tandem::Read(file.path(), *sokoban);
  return 0;
}
