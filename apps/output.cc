#include "apps/output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <system_error>
#include <variant>

#include "base/log.h"
#include "base/text.h"
#include "config/fields.h"
#include "data/run_files.h"
#include "domain/registry.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {

namespace fs = std::filesystem;

namespace {

// Returns the path without symbolic links, or "" if the system cannot follow it. The file need not
// exist yet.
fs::path CanonicalPath(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
}

// Whether both paths lead to the same file. It need not exist yet.
bool AreSame(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  const fs::path canonical = CanonicalPath(a);
  return !canonical.empty() && canonical == CanonicalPath(b);
}

void CheckReplacesNoInput(const NamedFile& output, const std::vector<NamedFile>& inputs) {
  for (const NamedFile& input : inputs) {
    if (input.path.empty() || !AreSame(output.path, input.path)) continue;
    throw InputError(fmt::format("{} {}: this is {}; choose another file", output.name,
                                 output.path.string(), input.name));
  }
}

void CheckReplacesNoFileOfRun(const NamedFile& output) {
  const fs::path file = CanonicalPath(output.path);
  if (!ResemblesFileOfRun(file.filename().string()) || !IsFolderOfRun(file.parent_path())) return;
  throw InputError(
      fmt::format("{} {}: a run writes this file into its folder; expected a file of another name",
                  output.name, output.path.string()));
}

}  // namespace

bool IsDeviceOrPipe(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && fs::is_other(status);
}

fs::path NewRunFolder(const std::string& prefix, const fs::path& config) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  const std::string name =
      fmt::format("{}{}-{:%Y%m%d-%H%M%S}", prefix, config.stem().string(), local);
  fs::path folder = fs::path("runs") / name;
  for (int n = 2; fs::exists(folder); ++n) {
    folder = fs::path("runs") / fmt::format("{}-{}", name, n);
  }
  return folder;
}

void CheckHasFilesOfRun(const std::filesystem::path& folder,
                        const std::vector<std::string_view>& files) {
  if (!std::filesystem::exists(folder)) {
    throw InputError(
        fmt::format("{}: no such folder; expected the folder of a run", folder.string()));
  }
  for (const std::string_view file : files) {
    RequireNoPipe(folder / file);
    if (std::filesystem::exists(folder / file)) continue;
    throw InputError(
        fmt::format("{}: no such file; expected the folder of a run that has done an update",
                    (folder / file).string()));
  }
}

bool IsFolderOfRun(const std::filesystem::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kConfigFile, ignored) &&
         (fs::exists(folder / kMetricsFile, ignored) ||
          fs::exists(folder / kCheckpointFile, ignored));
}

NamedFile PuzzleFile(const std::string& full_name) {
  const std::size_t colon = full_name.find(':');
  const bool has_file = colon != std::string::npos && ReadsFile(full_name.substr(0, colon));
  std::string path = has_file ? full_name.substr(colon + 1) : "";
  // The file may be followed by the name of a puzzle in it, and by how a network reads the puzzle.
  std::error_code ignored;
  for (std::size_t end = 0; end != std::string::npos && !fs::exists(path, ignored);) {
    end = path.find_last_of("#:");
    path.resize(std::min(end, path.size()));
  }
  return {.name = "the file of the puzzle", .path = path};
}

std::vector<NamedFile> FilesOf(const Config& config) {
  std::vector<NamedFile> files = {PuzzleFile(config.domain.full_name())};
  Config copy = config;
  for (const Field& field : FieldsOf(copy)) {
    const auto* const path = std::get_if<PathField>(&field.value);
    if (path == nullptr || path->is_folder()) continue;
    files.push_back({.name = fmt::format("the file of `{}`", field.key), .path = *path->value});
  }
  return files;
}

void CheckOutputs(const std::vector<NamedFile>& outputs, std::vector<NamedFile> inputs) {
  for (const fs::path& file : LoadedPlugins()) inputs.push_back({"a plug-in", file});
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty() || IsDeviceOrPipe(output->path)) continue;
    CheckReplacesNoInput(*output, inputs);
    CheckReplacesNoFileOfRun(*output);
    const auto same = std::find_if(outputs.begin(), output, [&](const NamedFile& earlier) {
      return !earlier.path.empty() && AreSame(earlier.path, output->path);
    });
    if (same == output) continue;
    throw InputError(fmt::format("{} {}: this is also the file of {}; choose another file",
                                 output->name, output->path.string(), same->name));
  }
}

void LogNextCommand(std::string_view command) {
  std::string next = fmt::format("next: tandem {}", command);
  for (const fs::path& file : LoadedPlugins()) {
    next += fmt::format(" --plugin {}", ShellWord(file.string()));
  }
  LogInfo(next);
}

void FlushStandardOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(fmt::format("cannot write standard output: {}",
                          errno != 0 ? std::strerror(errno) : "an earlier write failed"));
}

void OpenOutput(std::optional<AtomicFile>& file, const fs::path& path) {
  try {
    file.emplace(path);
  } catch (const Error& error) {
    throw InputError(error.what());
  }
}

void CheckCanWrite(const fs::path& path) {
  if (IsDeviceOrPipe(path) && !NamesOpenFile(path)) {
    // Not opened, because closing a pipe tells its reader that all is written.
    if (::access(path.c_str(), W_OK) == 0) return;
    throw InputError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
  }
  std::optional<AtomicFile> attempt;  // removed without Commit
  OpenOutput(attempt, path);
}

void WriteOutput(const fs::path& path, std::string_view content) {
  if (path.empty()) return fmt::print("{}", content);
  FlushStandardOutput();  // `path` may be standard output too
  std::optional<AtomicFile> file;
  OpenOutput(file, path);
  file->Write(content);
  file->Commit();
}

}  // namespace tandem
