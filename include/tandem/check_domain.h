// The conformance suite: checks that a domain keeps the promises of domain.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tandem/domain.h"

namespace tandem {

/// DomainCheck is one promise and whether the domain kept it on the sampled states.
struct DomainCheck {
  std::string promise;  ///< "Expand gives the same children as Apply"
  std::string broken;   ///< the state and the action that break it; "" if it is kept
};

/// CheckDomainOptions are the options of CheckDomain.
struct CheckDomainOptions {
  std::size_t states = 300;  ///< states to test: ends of random walks of up to this many steps
  int workers = 8;           ///< threads that call the domain at the same time
};

/// Checks every promise on sampled states, which are the same in every call. If a check throws, its
/// promise is reported as broken with the exception's message. One mistake may break several
/// promises, so fix the first one first. Blocks until done; starts `workers` threads.
std::vector<DomainCheck> CheckDomain(const Domain& domain, const CheckDomainOptions& options = {});

/// DomainRates is the speed of a domain on one core, with all data in cache.
struct DomainRates {
  double applied = 0;   ///< actions applied per second
  double expanded = 0;  ///< children generated per second
};

/// Measures each of the two rates for about `seconds`.
DomainRates MeasureDomain(const Domain& domain, double seconds = 0.2);

}  // namespace tandem
