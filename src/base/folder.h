// Output folders of commands.
#pragma once

#include <filesystem>

namespace tandem {

/// Creates the folder, or accepts one that exists and is empty. Throws InputError that asks for
/// another `--out` if `folder` is a file or a folder that is not empty. Throws InputError with the
/// system's reason if it cannot be created.
void MakeEmptyFolder(const std::filesystem::path& folder);

/// Throws the InputError that asks for another `--out`.
[[noreturn]] void FailForTakenFolder(const std::filesystem::path& folder);

}  // namespace tandem
