// Names the folder of a run if the user does not.
#pragma once

#include <filesystem>
#include <string>

namespace tandem {

/// Returns "runs/PREFIXconfig-20261121-142000", from the name of the config file and the time.
/// Appends
/// "-2", "-3" and so on if the folder exists.
std::filesystem::path NewRunFolder(const std::string& prefix, const std::filesystem::path& config);

}  // namespace tandem
