// Networks whose shape is read from a file of their weights.
#pragma once

#include "config/config.h"
#include "nn/network.h"
#include "nn/tensor_file.h"

namespace tandem {

/// NetworkWeights is a network that was read from a file: its weights under Tandem's names, and the
/// keys that they show.
struct NetworkWeights {
  NetworkConfig layers;
  StateDict state;
};

/// Reads a network from weights under Tandem's own names. `asked` decides what they do not show:
/// the activation, whether a network with an output per action is a Q net or a policy, and whether
/// one with one output takes an action. Of kinds other than resnet_fc, `asked` decides everything.
/// The prefix "module." of names, which PyTorch's DataParallel adds, is left out. Throws
/// InputError, without the name of the file, if an entry is no tensor of floating-point numbers, if
/// two have the same name, or if the sizes of the layers contradict each other. LoadStateDict
/// checks all shapes.
NetworkWeights FromTandem(const TensorDict& weights, const NetworkConfig& asked);

}  // namespace tandem
