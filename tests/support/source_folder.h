// Finds the repository's files for tests.
#pragma once

#include <filesystem>

namespace tandem {

/// The root of the source tree that the tests were built from.
const std::filesystem::path& SourceFolder();

}  // namespace tandem
