// Computes how much memory a generator will take, before it allocates anything.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "tandem/domain.h"

namespace tandem {

/// Returns an upper bound of the memory, in bytes, in which generate.target makes `rows` rows: a
/// ball around the goal, states with their children, and the nodes of
/// searches. Leaves out the buffers of rows and the network. `config` must have no `auto` left.
std::int64_t GenerationBytes(const Config& config, const DomainSpec& spec, std::int64_t rows);

}  // namespace tandem
