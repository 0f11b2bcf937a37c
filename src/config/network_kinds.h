// The names of the kinds of networks, which `network.kind` accepts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Returns the names of the kinds that come with Tandem (kNetworkKinds), and then the added ones.
std::vector<std::string> NetworkKindNames();

/// Returns whether NetworkKindNames has `name`.
bool IsNetworkKind(std::string_view name);

/// Adds a name, unless it is known already. RegisterNetwork (nn/network.h) calls this, so that
/// configs can name a network of the program that reads them. Call it from one thread, before a
/// config is read.
void AddNetworkKindName(std::string name);

}  // namespace tandem
