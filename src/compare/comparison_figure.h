// The picture of `tandem compare`.
#pragma once

#include <span>
#include <string>

#include "compare/comparison.h"

namespace tandem {

/// Returns an SVG with four parts: the solve rate over iterations; the solve rate over seconds; a
/// legend, which names curves that coincide; and a timeline of the generator and the main thread in
/// the first updates of the first seed. If no run was validated, shows the loss instead of the
/// solve rate. Requires at least one variant with runs, and the same number of runs of each.
std::string Figure(std::span<const VariantRuns> variants, const std::string& title);

}  // namespace tandem
