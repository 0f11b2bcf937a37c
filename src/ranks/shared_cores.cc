#include "ranks/shared_cores.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/hash.h"
#include "base/machine.h"
#include "ranks/ranks.h"

namespace tandem {
namespace {

// A number that stands for a text. Doubles hold 48 bits exactly.
double NumberOf(const std::string& text) {
  return static_cast<double>(std::stoull(HashOf(text).substr(0, 12), nullptr, 16));
}

}  // namespace

int CoresOfEach(const std::vector<RankCores>& ranks) {
  double least = std::numeric_limits<int>::max();
  for (const RankCores& rank : ranks) {
    double on_machine = 0;
    double with_mask = 0;
    for (const RankCores& other : ranks) {
      if (other.machine != rank.machine) continue;
      ++on_machine;
      if (other.mask == rank.mask) ++with_mask;
    }
    least = std::min({least, rank.count / with_mask, rank.quota / on_machine});
  }
  return std::max(1, static_cast<int>(least));
}

int CoresOfEach(Ranks& ranks) {
  const CpuSet own = AllowedCpus();
  std::vector<RankCores> all;
  for (const std::vector<double>& rank :
       ranks.Gather({NumberOf(HostName()), NumberOf(own.mask), static_cast<double>(own.count),
                     CpuQuota().value_or(std::numeric_limits<double>::infinity())})) {
    all.push_back({.machine = rank[0], .mask = rank[1], .count = rank[2], .quota = rank[3]});
  }
  return CoresOfEach(all);
}

}  // namespace tandem
