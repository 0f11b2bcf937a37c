// The network of a run before its first update.
#pragma once

#include <memory>

#include "config/config.h"
#include "nn/network.h"
#include "tandem/domain.h"

namespace tandem {

/// Returns a network with random weights that depend on `seed`, or with the weights of
/// `network.init_from`. Throws InputError if that checkpoint does not fit; it names the keys of the
/// network that differ, if they are known.
std::unique_ptr<Network> MakeInitialNet(const Config& config, const DomainSpec& domain);

}  // namespace tandem
