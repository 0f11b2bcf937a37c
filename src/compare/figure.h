// The picture of a comparison.
#pragma once

#include <span>
#include <string>

#include "compare/comparison.h"

namespace tandem {

/// An SVG of three parts: loss against iterations; loss against seconds; and what generator and
/// main thread did in the first updates of the first seed. Requires at least one variant with runs.
std::string Figure(std::span<const VariantRuns> variants, const std::string& title);

}  // namespace tandem
