#include "data/replay_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fault_point.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "base/timeline.h"
#include "tandem/error.h"

namespace tandem {

ReplayBuffer::ReplayBuffer(const Schema& schema, std::size_t rows, std::int64_t earlier,
                           std::uint64_t seed)
    : seed_(seed), sample_(schema, rows) {
  for (std::int64_t i = 0; i <= earlier; ++i) buffers_.emplace_back(schema, rows);
}

void ReplayBuffer::Add(std::int64_t update, const DataBuffer& rows) {
  const Span span(Activity::kReplay);
  if (first_ != end_ && update != end_) {
    throw Error(fmt::format("replay got the rows of update {}, expected update {}", update, end_));
  }
  if (first_ == end_) first_ = update;
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    std::ranges::copy(rows.column(c).bytes(), buffers_[SlotOf(update)].column(c).data());
  }
  end_ = update + 1;
  first_ = std::max(first_, end_ - static_cast<std::int64_t>(buffers_.size()));
}

// Selection sampling (Knuth, The Art of Computer Programming, vol. 2, algorithm S): one pass over
// all rows takes each row with the probability that makes the sample uniform.
const DataBuffer& ReplayBuffer::Sample() {
  const Span span(Activity::kReplay);
  Random random(seed_, Purpose::kReplay, end_ - 1, 0);
  std::size_t remaining = static_cast<std::size_t>(end_ - first_) * rows();
  std::size_t wanted = rows();
  for (std::int64_t update = first_; update < end_; ++update) {
    picked_.clear();
    for (std::size_t row = 0; row < rows(); ++row) {
      if (random.Below(remaining--) >= wanted) continue;
      picked_.push_back(static_cast<std::uint32_t>(row));
      --wanted;
    }
    const std::size_t first = rows() - wanted - picked_.size();
    for (std::size_t c = 0; c < schema().columns.size(); ++c) {
      CopyRows(BufferOf(update).column(c), picked_, sample_.column(c).Slice(first, picked_.size()));
    }
  }
  return sample_;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKindOfReplay = "tandem replay";
constexpr int kReplaySchema = 1;

static_assert(std::endian::native == std::endian::little, "numbers are stored in memory order");

std::int64_t FirstNeeded(const ReplayBuffer& replay, std::int64_t next) {
  return std::max<std::int64_t>(0, next - replay.earlier());
}

std::string Header(const ReplayBuffer& replay, std::int64_t next) {
  return fmt::format("{} {}\ncolumns {}\nrows {}\nupdates {} {}\n", kKindOfReplay, kReplaySchema,
                     DescribeSchema(replay.schema()), replay.rows(), FirstNeeded(replay, next),
                     next);
}

// Reads a file from front to back and hashes it.
class Reader {
 public:
  explicit Reader(const fs::path& path) : path_(path) {
    try {
      file_.emplace(path);
    } catch (const Error& error) {
      throw DamagedFile(fmt::format("cannot open {}, which is needed to resume with replay: {}",
                                    path.string(), error.what()));
    }
  }

  void Read(std::span<std::byte> to) {
    try {
      file_->Read(offset_, to);
    } catch (const Error& error) {
      Fail(error.what());
    }
    offset_ += std::ssize(to);
    hash_.Add(TextOf(to));
  }

  std::string Read(std::size_t size) {
    std::string text(size, '\0');
    Read(std::as_writable_bytes(std::span(text)));
    return text;
  }

  // Checks that the rest of the file is the hash of everything before it.
  void ExpectHash() {
    const std::string expected = hash_.Hex();
    if (Read(expected.size()) != expected) Fail("its hash does not match its contents");
    if (file_->size() != offset_) Fail("there are extra bytes after its hash");
  }

  [[noreturn]] void Fail(std::string_view why) const {
    throw DamagedFile(fmt::format("{} is damaged: {}", path_.string(), why));
  }

 private:
  const fs::path path_;
  std::optional<OpenFile> file_;
  std::int64_t offset_ = 0;  // of the next byte
  Hash hash_;
};

}  // namespace

void WriteReplay(const fs::path& path, const ReplayBuffer& replay, std::int64_t next) {
  FaultPoint(Fault::kWriteReplay);
  const std::int64_t updates = next - FirstNeeded(replay, next);
  RequireSpace(path,
               updates * static_cast<std::int64_t>(replay.rows() * replay.schema().row_bytes()));
  AtomicFile file(path);
  Hash hash;
  const auto write = [&](std::string_view bytes) {
    file.Write(bytes);
    hash.Add(bytes);
  };
  write(Header(replay, next));
  for (std::int64_t update = FirstNeeded(replay, next); update < next; ++update) {
    const DataBuffer& rows = replay.BufferOf(update);
    for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
      write(TextOf(std::as_bytes(rows.column(c).bytes())));
    }
  }
  file.Write(hash.Hex());
  file.Commit();
}

void ReadReplay(const fs::path& path, ReplayBuffer& replay, std::int64_t next) {
  Reader reader(path);
  const std::string expected = Header(replay, next);
  if (const std::string header = reader.Read(expected.size()); header != expected) {
    RequireKnownSchema(path.string(), header, kKindOfReplay, kReplaySchema);
    throw DamagedFile(fmt::format("{} does not belong to this run: it begins with\n{}expected\n{}",
                                  path.string(), header.substr(0, header.rfind('\n') + 1),
                                  expected));
  }
  DataBuffer rows(replay.schema(), replay.rows());
  for (std::int64_t update = FirstNeeded(replay, next); update < next; ++update) {
    for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
      reader.Read(std::as_writable_bytes(rows.column(c).bytes()));
    }
    replay.Add(update, rows);
  }
  reader.ExpectHash();
}

}  // namespace tandem
