#include "data/stream_manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr int kManifestSchema = 1;
constexpr std::int64_t kMaxVersion = std::int64_t{1} << 53;
constexpr std::int64_t kMaxManifestBytes = 4 << 20;

StreamManifest ManifestIn(const nlohmann::json& json) {
  if (json.at("schema") != kManifestSchema) {
    throw InputError(fmt::format("expected a manifest of schema {}, found {}", kManifestSchema,
                                 DumpJson(json.at("schema"))));
  }
  StreamManifest manifest{.ended = json.at("ended").get<bool>(),
                          .domain = json.at("domain").get<std::string>(),
                          .weights_sha256 = json.at("weights_sha256").get<std::string>(),
                          .config = json.at("config").get<std::string>()};
  const nlohmann::json& version = json.at("version");
  if (!version.is_number_unsigned() || version.get<std::uint64_t>() > kMaxVersion) {
    throw InputError(
        fmt::format("`version` is {}, expected a number of updates", DumpJson(version)));
  }
  manifest.version = version.get<std::int64_t>();
  return manifest;
}

// Opens and closes a folder, if it exists. A client of NFS keeps the names in a folder, and thus
// may not see a new file for up to a minute. It asks the server again when the folder is opened.
void RefreshNames(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace

std::string FormatManifest(const StreamManifest& manifest) {
  return DumpJson(nlohmann::ordered_json{{"schema", kManifestSchema},
                                         {"ended", manifest.ended},
                                         {"domain", manifest.domain},
                                         {"version", manifest.version},
                                         {"weights_sha256", manifest.weights_sha256},
                                         {"config", manifest.config}},
                  2) +
         "\n";
}

StreamManifest ParseManifest(std::string_view text) {
  try {
    return ManifestIn(ParseJson(text));
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("not the manifest of a run: {}", error.what()));
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    throw InputError(fmt::format("not the manifest of a run: {}", error.what()));
  }
}

std::optional<StreamManifest> ReadManifest(const fs::path& run) {
  const fs::path path = ManifestOf(run);
  RefreshNames(run);
  RefreshNames(path.parent_path());
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  const std::string text = ReadFile(path, kMaxManifestBytes);
  try {
    return ParseManifest(text);
  } catch (const InputError& wrong) {
    throw InputError(fmt::format("{}: {}", path.string(), wrong.what()));
  }
}

fs::path PublishedFolder(const fs::path& run) { return run / "published"; }

fs::path ManifestOf(const fs::path& run) { return PublishedFolder(run) / "manifest.json"; }

fs::path PublishedWeights(const fs::path& run, std::int64_t version) {
  return PublishedFolder(run) / fmt::format("weights-{}.safetensors", version);
}

fs::path StreamPathOf(const fs::path& run, const Config& config) {
  return config.data.path.empty() ? run / "stream" : fs::path(config.data.path);
}

}  // namespace tandem
