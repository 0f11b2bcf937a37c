#include "data/stream_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <regex>
#include <system_error>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "data/examples.h"
#include "domain/registry.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Entries of a header's provenance that differ from shard to shard.
constexpr const char* kGenerator = "stream.generator";
constexpr const char* kVersion = "stream.version";
constexpr const char* kFirstRow = "stream.first_row";

ShardSetSpec SpecOf(ShardSetSpec kind, const StreamShardName& name) {
  kind.examples = name.rows;
  kind.chunk_rows = name.rows;
  kind.chunks_per_shard = 1;
  kind.provenance[kGenerator] = name.generator;
  kind.provenance[kVersion] = std::to_string(name.version);
  kind.provenance[kFirstRow] = std::to_string(name.first_row);
  return kind;
}

void CheckBelongs(const fs::path& path, const ShardSetSpec& found, ShardSetSpec expected) {
  expected.compression = found.compression;
  if (!IsSameDomain(found.domain, expected.domain)) {
    throw InputError(
        fmt::format("{}: {}", path.string(), DescribeOtherDomain(found.domain, expected.domain)));
  }
  expected.domain = found.domain;  // the file of a puzzle's rules may have another path
  if (found == expected) return;
  throw InputError(fmt::format("{} does not belong to this run: {}", path.string(),
                               DescribeDifference(found, expected)));
}

// Memory for the rows of the shard at `path`. A lack of memory says nothing about the shard.
Storage MakeStorageFor(const fs::path& path, std::size_t bytes) {
  try {
    return MakeHostStorage(bytes);
  } catch (const Error& error) {
    throw SystemError(fmt::format("cannot read {}: {}", path.string(), error.what()));
  }
}

constexpr int kManifestSchema = 1;
constexpr std::int64_t kMaxVersion = std::int64_t{1} << 53;
constexpr std::int64_t kMaxManifestBytes = 4 << 20;

// Opens and closes a folder, if it exists. A client of NFS keeps the names in a folder for up to a
// minute. It asks the server again when the folder is opened.
void RefreshNames(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) ::close(descriptor);
}

constexpr const char* kUsed = "used";
constexpr const char* kRejected = "rejected";
constexpr const char* kGenerators = "generators";
constexpr auto kAbandonedAfter = std::chrono::minutes(10);

[[noreturn]] void Fail(const char* what, const fs::path& path, const std::error_code& error) {
  throw Error(fmt::format("cannot {} {}: {}", what, path.string(), error.message()));
}

}  // namespace

bool IsGeneratorName(std::string_view name) {
  static const std::regex form("[A-Za-z0-9._-]{1,60}");
  return std::regex_match(name.begin(), name.end(), form);
}

std::string FormatStreamShardName(const StreamShardName& name) {
  return fmt::format("rows-{:019}-{}-v{}-{}.tandem", name.first_row, name.rows, name.version,
                     name.generator);
}

std::optional<StreamShardName> ParseStreamShardName(std::string_view file) {
  static const std::regex form(
      R"(rows-(\d{19})-([1-9]\d{0,8})-v(0|[1-9]\d{0,17})-([A-Za-z0-9._-]{1,60})\.tandem)");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_match(file.begin(), file.end(), match, form)) return std::nullopt;
  const auto number = [&](std::size_t group) {
    return ParseNumber<std::int64_t>(std::string_view(match[group].first, match[group].second));
  };
  const auto first_row = number(1);
  const auto rows = number(2);
  const auto version = number(3);
  if (!first_row || !rows || !version || *rows > kMaxStreamRows ||
      *first_row >= kMaxStarts * kRowsPerStart) {
    return std::nullopt;
  }
  return StreamShardName{
      .first_row = *first_row, .rows = *rows, .version = *version, .generator = match[4].str()};
}

bool ComesBefore(const StreamShardName& a, const StreamShardName& b) {
  const auto key = [](const StreamShardName& name) {
    return std::tuple(name.version, name.first_row % kRowsPerStart, name.first_row);
  };
  return key(a) < key(b);
}

std::int64_t WriteStreamShard(const fs::path& folder, const ShardSetSpec& kind,
                              const StreamShardName& name, const DataBuffer& rows) {
  ShardWriter file(folder / FormatStreamShardName(name), SpecOf(kind, name), /*shard=*/0);
  file.Add(rows);
  return file.Commit();
}

DataBuffer ReadStreamShard(const fs::path& folder, const ShardSetSpec& kind,
                           const StreamShardName& name, int input_depth) {
  const fs::path path = folder / FormatStreamShardName(name);
  const ShardHeader header = ReadHeader(path);
  CheckBelongs(path, header.set, SpecOf(kind, name));
  Storage storage = MakeStorageFor(path, header.set.BytesOfChunk(0));
  ReadChunk(path, header, 0, storage.bytes);
  DataBuffer rows(header.set.schema, static_cast<std::size_t>(name.rows), std::move(storage));
  CheckExamples(rows, input_depth, path.string());
  return rows;
}

void StreamFolder::Create() const {
  for (const char* inside : {kUsed, kRejected, kGenerators}) {
    std::error_code error;
    fs::create_directories(path_ / inside, error);
    if (error) Fail("create", path_ / inside, error);
  }
}

// The name is not that of a run's lock, because data.path may be the folder of a run.
FolderLock StreamFolder::Lock() const {
  return {path_ / ".stream.lock",
          "another run takes the shards of this stream; set data.path to another folder, or wait",
          "make sure that no other run takes the shards of this stream"};
}

StreamFolder::Listing StreamFolder::List() const {
  Listing listing;
  for (const std::string& file : EntryNames(path_)) {
    if (auto name = ParseStreamShardName(file)) {
      listing.waiting.push_back(std::move(*name));
    } else if (file.ends_with(".tandem")) {
      listing.strays.push_back(file);
    }
  }
  std::ranges::sort(listing.waiting, ComesBefore);
  return listing;
}

std::vector<std::string> StreamFolder::Used() const { return EntryNames(path_ / kUsed); }

void StreamFolder::MarkUsed(const StreamShardName& name) const {
  const std::string file = FormatStreamShardName(name);
  RenameFile(path_ / file, path_ / kUsed / file);
}

void StreamFolder::MarkUnused(const std::vector<std::string>& files) const {
  for (const std::string& file : files) RenameFile(path_ / kUsed / file, path_ / file);
}

void StreamFolder::RemoveUsed(const std::vector<std::string>& files) const {
  if (files.empty()) return;
  for (const std::string& file : files) {
    RemoveFile(path_ / kUsed / file);
    RemoveFile(path_ / file);
  }
  SyncFolder(path_ / kUsed);
  SyncFolder(path_);
}

void StreamFolder::Reject(const std::string& file) const {
  RenameFile(path_ / file, path_ / kRejected / file);
}

void StreamFolder::RemoveLeftovers() const {
  const auto now = fs::file_time_type::clock::now();
  for (const std::string& file : EntryNames(path_)) {
    if (!ParsePartialName(file)) continue;
    std::error_code error;
    const fs::file_time_type written = fs::last_write_time(path_ / file, error);
    if (!error && now - written > kAbandonedAfter) fs::remove(path_ / file, error);
  }
}

std::int64_t StreamFolder::ClaimStart(std::string_view generator) const {
  const fs::path folder = path_ / kGenerators;
  std::int64_t number = 0;
  for (const std::string& name : EntryNames(folder)) {
    const auto taken = ParseNumber<std::int64_t>(name);
    if (taken && *taken < kMaxStarts) number = std::max(number, *taken + 1);
  }
  for (; number < kMaxStarts; ++number) {
    const fs::path path = folder / fmt::format("{:08}", number);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;  // another generator was faster
    if (file < 0) Fail("create", path, {errno, std::generic_category()});
    const std::string text = fmt::format("{}\n", generator);
    // The next start must not claim the same rows if the machine stops, so the claim is durable.
    const bool written =
        ::write(file, text.data(), text.size()) == std::ssize(text) && ::fsync(file) == 0;
    const int error = errno;
    ::close(file);
    if (!written) Fail("write", path, {error, std::generic_category()});
    SyncFolder(folder);
    return number;
  }
  throw InputError(
      fmt::format("{}: generators were started {} times, which is the most; start a new run",
                  folder.string(), WithThousands(kMaxStarts)));
}

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
    const nlohmann::json json = ParseJson(text);
    const auto schema = ReadEntry<std::int64_t>(json, "schema");
    if (schema != kManifestSchema) {
      throw Error(fmt::format("expected schema {}, found {}", kManifestSchema, schema));
    }
    return {.ended = json.at("ended").get<bool>(),
            .domain = ReadEntry<std::string>(json, "domain"),
            .version = ReadCount(json, "version", kMaxVersion),
            .weights_sha256 = ReadEntry<std::string>(json, "weights_sha256"),
            .config = ReadEntry<std::string>(json, "config")};
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("not the manifest of a run: {}", error.what()));
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
