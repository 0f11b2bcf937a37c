// The conformance suite: whether a domain keeps what domain.h promises of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// One promise, and what was found on samples.
struct DomainCheck {
  std::string promise;  ///< "Expand makes what Apply makes"
  std::string broken;   ///< the state and the action that break it; "" where it is kept
};

struct CheckDomainOptions {
  std::size_t states = 300;  ///< ends of random walks, the longest of as many steps
  int workers = 8;           ///< threads that call the domain at once
};

/// Checks every promise on states that are the same each time. A promise that a thrown exception
/// breaks is reported with its message. Where a first one is broken, those after it may be broken
/// by the same mistake. Blocks; starts threads.
std::vector<DomainCheck> CheckDomain(const Domain& domain, const CheckDomainOptions& options = {});

/// What one core does in cache.
struct DomainRates {
  double applied = 0;   ///< actions a second
  double expanded = 0;  ///< children a second
};

/// Measures for about `seconds` each.
DomainRates MeasureDomain(const Domain& domain, double seconds = 0.2);

}  // namespace tandem
