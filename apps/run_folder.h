// Where a run goes that is not told where.
#pragma once

#include <filesystem>
#include <string>

namespace tandem {

/// "runs/PREFIXconfig-20261121-142000", after the config's file and the time; with "-2" and so on
/// where that is taken.
std::filesystem::path NewRunFolder(const std::string& prefix, const std::filesystem::path& config);

}  // namespace tandem
