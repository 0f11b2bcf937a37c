// Files that the user has named for results.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/file.h"

namespace tandem {

/// Begins the file. Throws InputError if there can be none: then it is the name that is wrong.
void OpenOutput(std::optional<AtomicFile>& file, const std::filesystem::path& path);

/// Writes all of it. Throws InputError likewise, Error if the disk does not take the content.
void WriteOutput(const std::filesystem::path& path, std::string_view content);

}  // namespace tandem
