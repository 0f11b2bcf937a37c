// Folders that a command writes its results into.
#pragma once

#include <filesystem>

namespace tandem {

/// Makes the folder, or takes one that is there and empty. Throws InputError that asks for another
/// `--out` if it holds something or is a file, and one that says why where it cannot be made.
void MakeEmptyFolder(const std::filesystem::path& folder);

/// Throws the first of these.
[[noreturn]] void FailForTakenFolder(const std::filesystem::path& folder);

}  // namespace tandem
