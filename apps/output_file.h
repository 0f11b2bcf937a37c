// Writes output files that the user named on the command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/file.h"

namespace tandem {

/// Opens the file. Throws InputError if it cannot be created, because then the name is wrong.
void OpenOutput(std::optional<AtomicFile>& file, const std::filesystem::path& path);

/// Writes `content` to the file. Throws InputError if the file cannot be created, and Error if the
/// content cannot be written.
void WriteOutput(const std::filesystem::path& path, std::string_view content);

}  // namespace tandem
