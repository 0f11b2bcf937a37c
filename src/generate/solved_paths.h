// Files of solved paths, for the target supervised.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// SolvedPath is a state and actions that lead from it to a goal.
struct SolvedPath {
  std::vector<std::uint8_t> start;
  std::vector<Action> actions;
  double weight = 1;
};

/// Reads solved paths from a file of JSON lines, as `tandem solve --out` writes them:
///
///   {"state": "UUU...", "moves": "R U' F2", "weight": 2}
///
/// `moves` are the names of actions, in one text or as a list. `weight`, above 0, is 1 if it is
/// missing or null. Other keys are ignored. Lines whose `moves` is null are unsolved states, which
/// are skipped, as are blank lines and lines that begin with '#'.
///
/// Every path is replayed. Throws InputError that names the file, the line and what is wrong: an
/// action that does not exist or leaves the state unchanged, a path that does not end at a goal or
/// that goes on after one, a file without a path, or a file whose paths have no move.
std::vector<SolvedPath> ReadSolvedPaths(const std::filesystem::path& file, const Domain& domain);

}  // namespace tandem
