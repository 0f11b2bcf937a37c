// The inference copies of ResNetFC.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "nn/network.h"

namespace tandem {

/// Returns why `forward` cannot evaluate a network in `precision` on a device; empty if it can.
std::string WhyNoForward(InferenceForward forward, const NetworkConfig& network,
                         Precision precision, const Device& device);

/// Makes the copy that `config.forward` selects, which must not be `auto`. `device` must outlive
/// it. Throws InputError if WhyNoForward says why it cannot.
std::unique_ptr<NetworkCopy> MakeResNetFCCopy(const NetworkSpec& spec,
                                              const InferenceConfig& config, const Device& device);

}  // namespace tandem
