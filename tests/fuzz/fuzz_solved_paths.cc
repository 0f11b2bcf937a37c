// Fuzzes files of solved paths (generate.paths). The moves of a path that is read must lead to a
// goal.
#include <span>
#include <vector>

#include "fuzz/as_file.h"
#include "generate/solved_paths.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

void MustSolve(const SolvedPath& path, const Domain& domain) {
  std::vector<std::uint8_t> state = path.start;
  for (const Action& action : path.actions) {
    if (action >= domain.spec().num_actions()) std::abort();
    domain.Apply(Rows(std::span(state)), {&action, 1});
  }
  if (!IsGoal(domain, state) || !(path.weight > 0)) std::abort();
}

}  // namespace
}  // namespace tandem

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto tiles = tandem::MakeDomain("npuzzle:3");
  const tandem::AsFile file(tandem::AsText(data, size));
  try {
    for (const tandem::SolvedPath& path : tandem::ReadSolvedPaths(file.path(), *tiles)) {
      tandem::MustSolve(path, *tiles);
    }
  } catch (const tandem::InputError&) {
  }
  return 0;
}
