// The manifest that a run publishes for its generators.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace tandem {

/// StreamManifest says what the generators of a run need. A run writes it to
/// RUN/published/manifest.json each time it publishes weights.
struct StreamManifest {
  bool ended = false;          ///< the run has done all its updates, or its time is up
  std::string domain;          ///< DomainSpec::identity
  std::int64_t version = 0;    ///< completed updates of the published network
  std::string weights_sha256;  ///< of the published network
  std::string config;          ///< of the run, as YAML without `auto`

  bool operator==(const StreamManifest&) const = default;
};

std::string FormatManifest(const StreamManifest& manifest);

/// Parses a manifest; `text` is untrusted. Does not parse the config. Throws InputError that says
/// what is wrong, without the file's name.
StreamManifest ParseManifest(std::string_view text);

/// Returns nothing if the run has published nothing yet. Throws InputError that names the file if
/// it is not a manifest.
std::optional<StreamManifest> ReadManifest(const std::filesystem::path& run);

/// RUN/published, RUN/published/manifest.json and RUN/published/weights-N.safetensors, a checkpoint
/// without the state to resume from.
std::filesystem::path PublishedFolder(const std::filesystem::path& run);
std::filesystem::path ManifestOf(const std::filesystem::path& run);
std::filesystem::path PublishedWeights(const std::filesystem::path& run, std::int64_t version);

/// The folder of a run's shards: data.path, or RUN/stream if there is none.
std::filesystem::path StreamPathOf(const std::filesystem::path& run, const Config& config);

}  // namespace tandem
