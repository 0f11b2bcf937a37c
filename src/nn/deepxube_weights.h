// Networks in the form of DeepXube's heur.pt, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "nn/network_weights.h"
#include "nn/resnet_fc.h"
#include "nn/tensor_file.h"

namespace tandem {

/// DeepXubePuzzle says how DeepXube (https://github.com/forestagostinelli/deepxube, version 0.3.2)
/// feeds a puzzle of Tandem's to its resnet_fc.
struct DeepXubePuzzle {
  std::string domain;  ///< its --domain: "npuzzle.4"
  /// For each feature of its input, the number of the feature of OneHot that it equals. Empty if
  /// its input is the bytes of Tandem's input themselves, each 0 or 1.
  std::vector<std::int64_t> features;
  std::vector<std::int64_t> actions;  ///< for each of its actions, the number of Tandem's
  bool takes_q = true;                ///< it can load a Q net (--heur_type QFix) for this puzzle
};

/// DeepXubeNetwork is a network for DeepXube.
struct DeepXubeNetwork {
  std::string name;  ///< its --heur: "resnet_fc.200H_2B_bn"
  StateDict state;   ///< the content of heur.pt
};

/// Converts the weights of a ResNetFC. DeepXube's resnet_fc gives the same outputs for the same
/// states, apart from rounding.
///
/// DeepXube's first layer has neither normalisation nor activation. If that of `spec` has both,
/// batch normalisation is folded into it, and an extra residual block whose layers are 0 applies
/// the activation: relu(x + 0).
///
/// Throws InputError that says which key of the network DeepXube has no counterpart of.
DeepXubeNetwork ToDeepXube(const StateDict& state, const NetworkSpec& spec,
                           const DeepXubePuzzle& puzzle);

/// Whether the names of the tensors are those of DeepXube.
bool IsDeepXube(const TensorDict& weights);

/// Converts the content of a heur.pt of DeepXube's resnet_fc. Weight normalisation becomes plain
/// weights. `input` is the input of Tandem's puzzle. Throws InputError, without the name of the
/// file, if a tensor is missing, unknown or of another shape.
NetworkWeights FromDeepXube(const TensorDict& weights, const DeepXubePuzzle& puzzle,
                            InputLayout input);

}  // namespace tandem
