// Puzzles as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>

#include "arrays.h"
#include "tandem/domain.h"

namespace tandem::python {

/// `Puzzle` is tandem.Domain: a domain, and what owns it.
struct Puzzle {
  std::shared_ptr<const Domain> domain;

  const DomainSpec& spec() const { return domain->spec(); }
};

/// Encodes states for the network. Throws Error if the domain writes a number that its
/// input has no feature for. Call without the GIL.
void EncodeChecked(const Domain& domain, ConstRows states, Rows inputs);

}  // namespace tandem::python
