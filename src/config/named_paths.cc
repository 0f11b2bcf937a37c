#include "config/named_paths.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <variant>

#include "config/fields.h"

namespace tandem {
namespace {

bool Needs(PathsOf work, const PathField& path) {
  switch (work) {
    case PathsOf::kNothing:
      return false;
    case PathsOf::kNewRun:
      return true;
    case PathsOf::kResumedRun:
      return !path.is_in_checkpoint;
    case PathsOf::kShards:
      return path.is_for_shards;
  }
  return false;
}

std::string_view NameOfKind(PathKind kind) {
  switch (kind) {
    case PathKind::kFile:
      return "file";
    case PathKind::kFolder:
      return "folder";
    case PathKind::kFileOrFolder:
      return "file or folder";
  }
  return "";
}

// Returns why the path of `key` cannot be used; "" if it can.
std::string WhyMissing(const std::string& key, const PathField& path) {
  std::error_code error;  // a path that cannot be looked up is reported when it is opened
  const std::filesystem::file_status status = std::filesystem::status(*path.value, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return fmt::format("`{}`: {}: no such {}", key, *path.value, NameOfKind(path.kind));
  }
  const bool is_right =
      path.kind != PathKind::kFolder || error || std::filesystem::is_directory(status);
  return is_right ? "" : fmt::format("`{}`: {}: not a folder", key, *path.value);
}

}  // namespace

std::optional<MissingPath> FindMissingPath(Config config, PathsOf work) {
  for (const Field& field : FieldsOf(config)) {
    const auto* const path = std::get_if<PathField>(&field.value);
    if (path == nullptr || path->value->empty() || !Needs(work, *path)) continue;
    if (path->must_exist != nullptr && !path->must_exist(config)) continue;
    const std::string message = WhyMissing(field.key, *path);
    if (!message.empty()) return MissingPath{field.key, message};
  }
  return std::nullopt;
}

}  // namespace tandem
