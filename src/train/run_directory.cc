#include "train/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/fault_point.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kLockFile = ".lock";

// What a run with a stream makes before its first checkpoint.
constexpr std::array<std::string_view, 2> kStreamFolders = {"stream", "published"};

// Returns the name of the file that a partial file should have become, and "" for other names.
std::string_view NameOfPartial(std::string_view file) {
  const std::optional<PartialName> partial = ParsePartialName(file);
  return partial ? partial->name : "";
}

// Removes the lines of a file of JSON lines whose `update` is `updates` or later. Returns the
// update of the first remaining line, or nothing if no line remains.
std::optional<std::int64_t> RemoveLinesFrom(const fs::path& file, std::int64_t updates) {
  if (!fs::exists(file)) return std::nullopt;
  std::optional<std::int64_t> first;
  std::istringstream old(ReadFile(file));
  std::string remaining;
  std::string text;
  for (int number = 1; std::getline(old, text); ++number) {
    const std::string where = fmt::format("{}:{}", file.string(), number);
    const auto line = ReadLineOrWarn<nlohmann::json>(text, where, "the line is removed");
    if (!line) continue;
    const auto update = line->find("update");
    if (update == line->end() || !update->is_number_integer()) {
      LogWarning(where + ": expected a JSON object with `update`; the line is removed");
    } else if (update->get<std::int64_t>() < updates) {
      if (!first) first = update->get<std::int64_t>();
      remaining += text + "\n";
    }
  }
  WriteFileAtomically(file, remaining);
  return first;
}

// Does nothing if there is no such file.
void Sync(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);  // CIFS syncs no other
  if (descriptor < 0 && errno == ENOENT) return;
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced) {
    throw Error(fmt::format("cannot write {}: {}", file.string(), std::strerror(error)));
  }
}

// A second name for the file costs no space, and writing a new `file` replaces only the first name.
void PreserveAs(const fs::path& file, const fs::path& preserved) {
  if (fs::exists(preserved)) return;
  std::error_code no_links;
  fs::create_hard_link(fs::canonical(file), preserved, no_links);
  if (no_links) {
    WriteFileAtomically(preserved, ReadFile(file, std::numeric_limits<std::int64_t>::max()));
  }
}

// Adds lines to the end of a file.
void Append(const fs::path& file, const std::string& lines) {
  std::ofstream out(file, std::ios::app);
  out << lines << std::flush;
  if (!out) {
    throw Error(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
  }
}

}  // namespace

fs::path CheckpointIn(const fs::path& path) {
  return fs::is_directory(path) ? path / kCheckpointFile : path;
}

bool IsImported(const fs::path& checkpoint) {
  return fs::exists(checkpoint.parent_path() / kImportRecord);
}

void RunDirectory::Lock() {
  lock_ = FolderLock(path_ / kLockFile,
                     "another program is training in this folder; choose another, or wait",
                     "make sure that no other program trains in this folder");
}

// Returns whether a killed program left only the empty config.yaml and partial files of a first
// checkpoint.
bool RunDirectory::IsAbandonedClaim() const {
  std::error_code failed;
  if (!fs::is_regular_file(config(), failed) || !fs::is_empty(config(), failed)) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, failed)) {
    const std::string name = entry.path().filename().string();
    const std::string_view whole = NameOfPartial(name);
    const bool begun = whole == kCheckpointFile || whole == kConfigFile ||
                       std::ranges::find(kStreamFolders, name) != kStreamFolders.end();
    if (name != kConfigFile && name != kLockFile && !begun) return false;
  }
  return !failed;
}

RunDirectory RunDirectory::Create(const fs::path& folder) {
  const fs::path path = fs::absolute(folder);
  if (RunDirectory abandoned(path); abandoned.IsAbandonedClaim()) {
    abandoned.Lock();
    if (abandoned.IsAbandonedClaim()) {  // check again, now that this program holds the lock
      abandoned.RemoveBegunFiles();
      return abandoned;
    }
  }
  RunDirectory run(path);
  run.made_folder_ = MakeEmptyFolder(path);
  const int claim = ::open(run.config().c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (claim < 0 && errno == EEXIST) FailForTakenFolder(path);  // another run was faster
  if (claim < 0) {
    const std::string reason = std::strerror(errno);
    std::error_code ignored;
    if (run.made_folder_) fs::remove(path, ignored);
    throw InputError(fmt::format("cannot write to {}: {}", path.string(), reason));
  }
  ::close(claim);
  run.Lock();
  return run;
}

void RunDirectory::Abandon() const {
  std::error_code ignored;
  if (fs::exists(checkpoint(), ignored)) return;
  if (fs::is_empty(config(), ignored)) {
    try {
      RemoveBegunFiles();
    } catch (const Error&) {  // the caller has an earlier error to report
    }
    fs::remove(config(), ignored);
    fs::remove(path_ / kLockFile, ignored);
  }
  if (made_folder_) fs::remove(path_, ignored);  // removes only an empty folder
}

// Removes what a run writes before its first checkpoint is complete, except config.yaml.
void RunDirectory::RemoveBegunFiles() const {
  std::error_code ignored;
  for (const std::string_view folder : kStreamFolders) fs::remove_all(path_ / folder, ignored);
  RemovePartialFiles();
}

RunDirectory RunDirectory::Open(const fs::path& path) {
  if (!fs::exists(path)) {
    throw InputError(
        fmt::format("{}: no such folder; expected the folder of a run", path.string()));
  }
  RunDirectory run(path);
  for (const fs::path& file :
       {run.metrics(), run.best(), run.trace(), run.summary(), run.import_record()}) {
    RequireNoPipe(file);
  }
  for (const fs::path& file : {run.config(), run.checkpoint()}) {
    RequireNoPipe(file);
    if (fs::exists(file)) continue;
    if (file == run.checkpoint() &&
        (fs::exists(run.best()) || !run.AllArchived().empty() || !run.Checkpoints().empty())) {
      continue;
    }
    throw InputError(fmt::format("{} is not the folder of a run: it has no {}", path.string(),
                                 file.filename().string()));
  }
  return run;
}

bool RunDirectory::HasCheckpoint(const fs::path& path) {
  return fs::exists(path) && !RunDirectory(path).Checkpoints().empty();
}

void RunDirectory::RequireCheckpoint() const {
  if (!Checkpoints().empty()) return;
  throw InputError(fmt::format("{} has no checkpoint.safetensors{}", path_.string(),
                               fs::exists(best()) ? ", but it has best.safetensors" : ""));
}

RunDirectory RunDirectory::Reopen(const fs::path& path) {
  RunDirectory run = Open(fs::absolute(path));
  run.RequireCheckpoint();
  run.Lock();
  if (!fs::exists(run.checkpoint())) {
    LogWarning(fmt::format("{}: no such file; continuing from {} instead",
                           run.checkpoint().string(), run.Checkpoints().front().string()));
  }
  run.RemovePartialFiles();
  return run;
}

// The program that wrote these files was killed, because no other program writes while this one
// holds the lock.
void RunDirectory::RemovePartialFiles() const {
  for (const std::string& file : EntryNames(path_)) {
    if (IsFileOfRun(NameOfPartial(file))) RemoveFile(path_ / file);
  }
}

void RunDirectory::AddToLastMetrics(std::int64_t update, const nlohmann::ordered_json& more) const {
  std::string lines = fs::exists(metrics()) ? ReadFile(metrics()) : "";
  const std::size_t end = lines.find_last_not_of('\n') + 1;
  const std::size_t begin = lines.rfind('\n', end - 1) + 1;
  const std::string last = lines.substr(begin, end - begin);
  auto line = ParseJsonOrDiscard<nlohmann::ordered_json>(last);
  if (IsDamaged(last) || !line.is_object() || line.value("update", std::int64_t{-1}) != update) {
    LogWarning(
        fmt::format("{}: expected the last line to be that of update {}; the results of the "
                    "last validation are only in summary.json",
                    metrics().string(), update));
    return;
  }
  line.update(more);
  lines.resize(begin);
  lines += WithHash(line) + "\n";
  WriteFileAtomically(metrics(), lines);
}

void RunDirectory::SyncMetrics() const {
  Sync(metrics());
  Sync(shards());
}

fs::path RunDirectory::preserved_best(std::int64_t update) const {
  return path_ / kPreservedBests.With(update);
}

void RunDirectory::PreserveBest(std::int64_t update) const {
  if (fs::exists(best())) PreserveAs(best(), preserved_best(update));
}

// Of the preserved networks after at most `newest` updates, removes those that no checkpoint refers
// to. checkpoint.safetensors refers to `update`, and a previous checkpoint to the latest network
// that was best before it was written.
void RunDirectory::RemoveUnusedBests(std::optional<std::int64_t> update,
                                     std::int64_t newest) const {
  const std::set<std::int64_t> preserved = NumbersOf(kPreservedBests);
  std::set<std::int64_t> bests = preserved;
  std::set<std::int64_t> used;
  if (update) {
    bests.insert(*update);
    used.insert(*update);
  }
  for (const std::int64_t next : Previous()) {
    const auto later = bests.upper_bound(next);
    if (later != bests.begin()) used.insert(*std::prev(later));
  }
  for (const std::int64_t best : preserved) {
    if (best <= newest && !used.contains(best)) RemoveFile(preserved_best(best));
  }
}

void RunDirectory::GoBackTo(std::int64_t updates, std::optional<std::int64_t> best_update) const {
  const std::int64_t first = RemoveLinesFrom(metrics(), updates).value_or(updates);
  if (first > 0) {
    LogWarning(fmt::format(
        "{}: {}; expected lines from update 0 on. The run goes on, but its metrics and reports "
        "will lack the {} before",
        metrics().string(),
        first < updates ? fmt::format("the first line is that of update {}", first)
                        : "there is no line of an earlier update",
        Counted(first, "update")));
  }
  RemoveLinesFrom(shards(), updates);
  for (const std::int64_t number : NumbersOf(kArchivedNetworks)) {
    if (number > updates) RemoveFile(archived(number));
  }
  for (const std::int64_t next : Previous()) {
    if (next > updates) RemoveFile(previous(next));
  }
  RemoveFile(summary());
  if (!best_update) {
    RemoveFile(best());
  } else if (fs::exists(preserved_best(*best_update))) {
    RenameFile(preserved_best(*best_update), best());
    RemoveFile(preserved_best(*best_update));  // rename does nothing if both name the same file
  }
  RemoveUnusedBests(best_update, std::numeric_limits<std::int64_t>::max());
}

fs::path RunDirectory::previous(std::int64_t next) const {
  return path_ / kPreviousCheckpoints.With(next);
}

std::set<std::int64_t> RunDirectory::NumbersOf(const NumberedName& kind) const {
  std::set<std::int64_t> numbers;
  for (const std::string& file : EntryNames(path_)) {
    if (const auto number = kind.NumberIn(file)) numbers.insert(*number);
  }
  return numbers;
}

std::vector<std::int64_t> RunDirectory::Previous() const {
  const std::set<std::int64_t> numbers = NumbersOf(kPreviousCheckpoints);
  return {numbers.rbegin(), numbers.rend()};
}

std::vector<fs::path> RunDirectory::Checkpoints() const {
  std::vector<fs::path> paths;
  if (fs::exists(checkpoint())) paths.push_back(checkpoint());
  for (const std::int64_t number : Previous()) paths.push_back(previous(number));
  return paths;
}

void RunDirectory::PreserveCheckpoint(std::int64_t next) const {
  if (fs::exists(checkpoint())) PreserveAs(checkpoint(), previous(next));
}

fs::path RunDirectory::archived(std::int64_t updates) const {
  return path_ / kArchivedNetworks.With(updates);
}

std::vector<fs::path> RunDirectory::AllArchived() const {
  std::vector<fs::path> paths;
  for (const std::int64_t updates : NumbersOf(kArchivedNetworks)) {
    paths.push_back(archived(updates));
  }
  return paths;
}

fs::path RunDirectory::replay(std::int64_t next) const { return path_ / kReplayRows.With(next); }

void RunDirectory::RemoveFilesBefore(std::int64_t next, std::optional<std::int64_t> best_update,
                                     std::int64_t keep) const {
  std::set<std::int64_t> remaining = {next};
  for (const std::int64_t number : Previous()) {
    if (number < next && std::ssize(remaining) < keep) {
      remaining.insert(number);
    } else {
      RemoveFile(previous(number));
    }
  }
  for (const std::int64_t number : NumbersOf(kReplayRows)) {
    if (!remaining.contains(number)) RemoveFile(replay(number));
  }
  RemoveUnusedBests(best_update, next);  // training may have gone on, and preserved newer ones
}

void RunDirectory::AppendMetrics(const nlohmann::ordered_json& line) const {
  FaultPoint(Fault::kWriteMetrics);
  Append(metrics(), WithHash(line) + "\n");
}

void RunDirectory::AppendShards(const std::string& lines) const { Append(shards(), lines); }

}  // namespace tandem
