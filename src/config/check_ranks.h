// The check that several ranks can train a config together.
#pragma once

namespace tandem {

struct Config;

/// Throws InputError that names a key with which ranks cannot train together, and says why. All
/// other keys decide what happens from the seed, the number of the update, or values that are the
/// same in all ranks.
void CheckRanks(const Config& config);

}  // namespace tandem
