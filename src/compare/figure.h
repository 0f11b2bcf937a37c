// The picture of a comparison.
#pragma once

#include <span>
#include <string>

#include "compare/comparison.h"

namespace tandem {

/// An SVG of four parts: the solve rate against iterations, and against seconds; a legend, which
/// names curves that lie on each other; and what generator and main thread did in the first updates
/// of the first seed. If no run was validated, the loss takes the place of the solve rate. Requires
/// at least one variant with runs, and as many runs of each.
std::string Figure(std::span<const VariantRuns> variants, const std::string& title);

}  // namespace tandem
