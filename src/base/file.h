// Files that appear whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace tandem {

/// Calls `write` with a path beside `path`, then makes the result durable (fsync) and renames it to
/// `path`. On an exception the file beside is removed and whatever stood at `path` is untouched.
/// Throws Error that names the path and the system's reason.
void WriteFileAtomically(const std::filesystem::path& path,
                         const std::function<void(const std::filesystem::path&)>& write);

/// The same, for content in memory.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

/// The whole file. Throws InputError that names the path and the system's reason.
std::string ReadFile(const std::filesystem::path& path);

}  // namespace tandem
