// The names that DeepXube gives to fully connected residual networks.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

/// Returns the keys of the section `network` that `name` stands for, with their values. `name` is
/// one of DeepXube's names (https://github.com/forestagostinelli/deepxube), such as 5000H_4B_bn,
/// with or without `resnet_fc.` in front. Its parts, in any order, are
///
///     5000H  width of the residual blocks (DeepXube's res_dim); 1000 if it is missing
///     4B     number of blocks, each with two linear layers; 4 if it is missing
///     bn     batch normalisation
///     ln     layer normalisation
///
/// Without bn and ln there is no normalisation. In DeepXube the first layer, which leads from the
/// input to the blocks, has neither normalisation nor activation; in Tandem it has both, unless
/// `network.input_layer` is linear.
///
/// Throws InputError that begins with `origin`, the place where the name was set, if `name` is not
/// such a name.
std::vector<std::pair<std::string, std::string>> KeysOfNetworkName(std::string_view name,
                                                                   std::string_view origin);

}  // namespace tandem
