// The exit codes of commands, and the folders and files that they read and write.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace tandem {

/// A command that was stopped by signal N ends with kSignalBase + N.
enum ExitCode : int { kDone = 0, kFailed = 1, kBadInput = 2, kSignalBase = 128 };

/// Returns "runs/PREFIXconfig-20261121-142000", from the name of the config file and the time.
/// Appends "-2", "-3" and so on if the folder exists.
std::filesystem::path NewRunFolder(const std::string& prefix, const std::filesystem::path& config);

/// Throws InputError if `folder` does not exist, or lacks one of the `files` that a run writes once
/// it has done an update.
void CheckHasFilesOfRun(const std::filesystem::path& folder, const std::vector<std::string>& files);

/// Throws InputError, naming `option`, if the file to write is the file of the states.
void CheckIsNotStatesFile(const char* option, const std::filesystem::path& path,
                          const std::filesystem::path& states);

/// Opens a file that the user named. Throws InputError if it cannot be created, because then the
/// name is wrong.
void OpenOutput(std::optional<AtomicFile>& file, const std::filesystem::path& path);

/// Throws InputError if a file that the user named cannot be created. Leaves no file. Call it
/// before hours of work.
void CheckCanWrite(const std::filesystem::path& path);

/// Writes `content` to a file that the user named. Throws InputError if the file cannot be created,
/// and Error if the content cannot be written.
void WriteOutput(const std::filesystem::path& path, std::string_view content);

}  // namespace tandem
