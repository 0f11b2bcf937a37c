// How the ranks of a machine share its cores.
#pragma once

#include <vector>

namespace tandem {

class Ranks;

/// RankCores says which cores a rank may use.
struct RankCores {
  double machine;  ///< a number that the machine's ranks have in common
  double mask;     ///< a number that ranks with the same affinity mask have in common
  double count;    ///< of the cores in that mask
  double quota;    ///< in cores, of the control groups; infinite if there is none
};

/// Returns how many cores every rank can use, at least 1. Ranks of a machine divide a quota, and
/// those with the same mask also divide its cores. If the launcher has bound each rank to cores of
/// its own, these are divided already.
int CoresOfEach(const std::vector<RankCores>& ranks);

/// Does this for the ranks of a run, which must all call it.
int CoresOfEach(Ranks& ranks);

}  // namespace tandem
