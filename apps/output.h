// The exit codes of commands, their reports, and the folders and files that they read and write.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "config/config.h"

namespace tandem {

/// A command that was stopped by signal N ends with kSignalBase + N.
enum ExitCode : int { kDone = 0, kFailed = 1, kBadInput = 2, kSignalBase = 128 };

/// Seconds between two reports of a command's progress.
inline constexpr double kReportInterval = 10;

/// Returns "runs/PREFIXconfig-20261121-142000", from the name of the config file and the time.
/// Appends "-2", "-3" and so on if the folder exists.
std::filesystem::path NewRunFolder(const std::string& prefix, const std::filesystem::path& config);

/// Throws InputError if `folder` does not exist, or if one of the `files` that a run writes once it
/// has done an update is missing or is a pipe or a device.
void CheckHasFilesOfRun(const std::filesystem::path& folder,
                        const std::vector<std::string_view>& files);

/// Whether `folder` has the config and the results of a run.
bool IsFolderOfRun(const std::filesystem::path& folder);

/// NamedFile is a file that a command reads or writes.
struct NamedFile {
  std::string name;            ///< an output: its option, "--json"; an input: "the config"
  std::filesystem::path path;  ///< "": the command has no such file
};

/// Returns the file that the rules of the puzzle `full_name` come from: "permutation:my.yaml". Its
/// path is empty, or the name of a puzzle that is built in, if there is no such file.
NamedFile PuzzleFile(const std::string& full_name);

/// Whether `path` names something that writing does not replace.
bool IsDeviceOrPipe(const std::filesystem::path& path);

/// Returns the files that the keys of `config` name.
std::vector<NamedFile> FilesOf(const Config& config);

/// Throws InputError, naming the option, if a file to write is one of `inputs` or a plug-in that is
/// loaded, is a file that a run writes into its folder, or is the file of another option. Call it
/// before the command works. Devices and pipes are accepted, because writing to them replaces
/// nothing.
void CheckOutputs(const std::vector<NamedFile>& outputs, std::vector<NamedFile> inputs);

/// Logs "next: tandem COMMAND", the command to go on with, and adds the plug-ins that are loaded.
void LogNextCommand(std::string_view command);

/// Writes what standard output still holds. Throws Error with the system's reason if that fails, or
/// without it if an earlier write failed.
void FlushStandardOutput();

/// Opens a file that the user named. Throws InputError if it cannot be created, because then the
/// name is wrong.
void OpenOutput(std::optional<AtomicFile>& file, const std::filesystem::path& path);

/// Throws InputError if a file that the user named cannot be created. Leaves no file. Call it
/// before hours of work.
void CheckCanWrite(const std::filesystem::path& path);

/// Writes `content` to a file that the user named, or to standard output if `path` is empty. Throws
/// InputError if the file cannot be created, and Error if the content cannot be written.
void WriteOutput(const std::filesystem::path& path, std::string_view content);

}  // namespace tandem
