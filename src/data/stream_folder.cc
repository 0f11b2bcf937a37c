#include "data/stream_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "base/file.h"
#include "base/text.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsed = "used";
constexpr const char* kRejected = "rejected";
constexpr const char* kGenerators = "generators";
constexpr auto kAbandonedAfter = std::chrono::minutes(10);

[[noreturn]] void Fail(const char* what, const fs::path& path, const std::error_code& error) {
  throw Error(fmt::format("cannot {} {}: {}", what, path.string(), error.message()));
}

}  // namespace

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

std::int64_t StreamFolder::NumRejected() const { return std::ssize(EntryNames(path_ / kRejected)); }

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
    // If the machine stops, a claim that is not durable is lost. The next start would then claim
    // the same rows.
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

}  // namespace tandem
