// Tests of the replay buffer and its file.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <map>
#include <set>

#include "base/file.h"
#include "base/worker.h"
#include "data/replay_buffer.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::size_t kRowsOfBuffer = 50;

// Both columns hold the row's number over all updates, so that mixed-up rows are noticed.
const Schema kReplaySchema{.columns = {{.name = "id", .type = ElementType::kUint8, .width = 3},
                                       {.name = "x", .type = ElementType::kFloat32, .width = 2}}};

DataBuffer RowsOf(std::int64_t update) {
  DataBuffer rows(kReplaySchema, kRowsOfBuffer);
  for (std::size_t i = 0; i < kRowsOfBuffer; ++i) {
    const auto id = static_cast<std::uint32_t>(update * kRowsOfBuffer + i);
    rows.column(0)[i][0] = id & 0xFF;
    rows.column(0)[i][1] = (id >> 8) & 0xFF;
    rows.column(0)[i][2] = 7;
    rows.floats(1)[2 * i] = static_cast<float>(id);
    rows.floats(1)[2 * i + 1] = -static_cast<float>(id);
  }
  return rows;
}

// The number of each row. Checks that both columns agree.
std::vector<std::uint32_t> Ids(const DataBuffer& rows) {
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto bytes = rows.column(0)[i];
    const std::uint32_t id = bytes[0] + 256U * bytes[1];
    EXPECT_EQ(bytes[2], 7);
    EXPECT_EQ(rows.floats(1)[2 * i], static_cast<float>(id));
    EXPECT_EQ(rows.floats(1)[2 * i + 1], -static_cast<float>(id));
    ids.push_back(id);
  }
  return ids;
}

std::vector<std::uint32_t> SampleAfter(ReplayBuffer& replay, std::int64_t updates) {
  for (std::int64_t update = replay.end(); update < updates; ++update) {
    replay.Add(update, RowsOf(update));
  }
  return Ids(replay.Sample());
}

// A run writes the file in the background, while it trains on the update that comes next.
TEST(ReplayBuffer, FileMayBeWrittenWhileTheNextUpdateIsAdded) {
  const TempFolder folder;
  const std::filesystem::path file = folder.path() / "replay-3.bin";
  ReplayBuffer replay(kReplaySchema, kRowsOfBuffer, /*earlier=*/2, /*seed=*/1);
  SampleAfter(replay, 3);
  BackgroundTasks writer("writer");
  writer.Post([&] { WriteReplay(file, replay, /*next=*/3); });
  replay.Add(3, RowsOf(3));
  replay.Sample();
  writer.Wait();
  EXPECT_NO_THROW(writer.ThrowFailure());
  ReplayBuffer read(kReplaySchema, kRowsOfBuffer, /*earlier=*/2, /*seed=*/1);
  ReadReplay(file, read, /*next=*/3);
  for (const std::int64_t update : {1, 2}) {
    EXPECT_EQ(Ids(read.BufferOf(update)), Ids(RowsOf(update)));
  }
}

TEST(ReplayBuffer, DrawsDistinctRowsOfTheUpdatesHeld) {
  ReplayBuffer replay(kReplaySchema, kRowsOfBuffer, /*earlier=*/3, /*seed=*/1);
  for (std::int64_t updates = 1; updates < 12; ++updates) {
    const std::vector<std::uint32_t> ids = SampleAfter(replay, updates);
    const std::set<std::uint32_t> different(ids.begin(), ids.end());
    EXPECT_EQ(different.size(), kRowsOfBuffer);
    const std::int64_t first = std::max<std::int64_t>(0, updates - 4);
    EXPECT_EQ(replay.first(), first);
    EXPECT_GE(*different.begin(), first * kRowsOfBuffer);
    EXPECT_LT(*different.rbegin(), updates * kRowsOfBuffer);
  }
}

TEST(ReplayBuffer, SampleWithoutEarlierUpdatesIsTheBuffer) {
  ReplayBuffer replay(kReplaySchema, kRowsOfBuffer, /*earlier=*/0, /*seed=*/1);
  EXPECT_EQ(SampleAfter(replay, 1), Ids(RowsOf(0)));
  EXPECT_EQ(SampleAfter(replay, 6), Ids(RowsOf(5)));
}

TEST(ReplayBuffer, DrawsEveryRowWithEqualProbability) {
  constexpr int kSeeds = 4000;
  std::map<std::uint32_t, int> drawn;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    ReplayBuffer replay(kReplaySchema, kRowsOfBuffer, /*earlier=*/2, seed);
    for (const std::uint32_t id : SampleAfter(replay, 3)) ++drawn[id];
  }
  EXPECT_EQ(drawn.size(), 3 * kRowsOfBuffer);
  // Each row is in a third of the samples. The limit is five standard deviations.
  const double most_off = 5 * std::sqrt(kSeeds * (1.0 / 3) * (2.0 / 3));
  for (const auto& [id, times] : drawn) EXPECT_NEAR(times, kSeeds / 3.0, most_off) << id;
}

TEST(ReplayBuffer, SampleDependsOnlyOnSeedAndUpdate) {
  ReplayBuffer one(kReplaySchema, kRowsOfBuffer, 2, 1), same(kReplaySchema, kRowsOfBuffer, 2, 1),
      other(kReplaySchema, kRowsOfBuffer, 2, 2);
  SampleAfter(one, 3);  // earlier samples have no effect
  const std::vector<std::uint32_t> ids = SampleAfter(one, 5);
  EXPECT_EQ(ids, SampleAfter(same, 5));
  EXPECT_EQ(ids, SampleAfter(one, 5));  // sampling again has no effect either
  EXPECT_NE(ids, SampleAfter(other, 5));
}

TEST(ReplayBuffer, EachUpdateDrawsDifferentPositions) {
  ReplayBuffer replay(kReplaySchema, kRowsOfBuffer, /*earlier=*/2, /*seed=*/1);
  std::set<std::vector<std::uint32_t>> drawn;
  for (const std::int64_t updates : {3, 4, 5, 6}) {  // three of these updates are held
    std::vector<std::uint32_t> places = SampleAfter(replay, updates);
    for (std::uint32_t& place : places)
      place -= static_cast<std::uint32_t>(replay.first() * kRowsOfBuffer);
    EXPECT_TRUE(drawn.insert(places).second) << updates;
  }
}

TEST(ReplayBuffer, RefusesUpdatesOutOfOrder) {
  ReplayBuffer replay(kReplaySchema, kRowsOfBuffer, 2, 1);
  replay.Add(4, RowsOf(4));  // a resumed run may start at any update
  EXPECT_THROW(replay.Add(4, RowsOf(4)), Error);
  EXPECT_THROW(replay.Add(6, RowsOf(6)), Error);
  replay.Add(5, RowsOf(5));
  EXPECT_EQ(replay.first(), 4);
  EXPECT_EQ(replay.end(), 6);
}

class ReplayFile : public testing::Test {
 protected:
  std::string ErrorOfReading(std::int64_t next, std::size_t rows = kRowsOfBuffer) {
    ReplayBuffer replay(kReplaySchema, rows, 3, 1);
    try {
      ReadReplay(file_, replay, next);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  const TempFolder temp_;
  const std::filesystem::path file_ = temp_.path() / "replay-7.bin";
};

TEST_F(ReplayFile, ResumedBufferDrawsTheSameSamples) {
  for (const std::int64_t next : {0, 1, 3, 4, 7}) {
    ReplayBuffer whole(kReplaySchema, kRowsOfBuffer, 3, 1);
    if (next > 0) SampleAfter(whole, next);
    WriteReplay(file_, whole, next);
    ReplayBuffer resumed(kReplaySchema, kRowsOfBuffer, 3, 1);
    ReadReplay(file_, resumed, next);
    for (std::int64_t updates = next + 1; updates < 12; ++updates) {
      EXPECT_EQ(SampleAfter(resumed, updates), SampleAfter(whole, updates));
    }
  }
}

// This happens if an update fails after its rows were added.
TEST_F(ReplayFile, SavesTheStateBeforeTheNewestUpdate) {
  ReplayBuffer replay(kReplaySchema, kRowsOfBuffer, 3, 1);
  SampleAfter(replay, 8);
  WriteReplay(file_, replay, 7);
  ReplayBuffer resumed(kReplaySchema, kRowsOfBuffer, 3, 1);
  ReadReplay(file_, resumed, 7);
  EXPECT_EQ(resumed.first(), 4);
  EXPECT_EQ(SampleAfter(resumed, 8), SampleAfter(replay, 8));
}

TEST_F(ReplayFile, ErrorsSayWhatIsWrongWithTheFile) {
  EXPECT_NE(
      ErrorOfReading(7).find("replay-7.bin, which is needed to resume with replay: No such file"),
      std::string::npos);
  ReplayBuffer replay(kReplaySchema, kRowsOfBuffer, 3, 1);
  SampleAfter(replay, 7);
  WriteReplay(file_, replay, 7);
  EXPECT_EQ(ErrorOfReading(7), "");
  EXPECT_NE(ErrorOfReading(6).find("updates 4 7\nexpected\ntandem replay 1\ncolumns id:uint8:3 "
                                   "x:float32:2\nrows 50\nupdates 3 6\n"),
            std::string::npos);
  EXPECT_NE(ErrorOfReading(7, kRowsOfBuffer + 1).find("rows 51"), std::string::npos);

  const std::string content = ReadFile(file_);
  std::string damaged = content;
  damaged[damaged.size() / 2] ^= 1;
  WriteFileAtomically(file_, damaged);
  EXPECT_NE(ErrorOfReading(7).find("is damaged: its hash does not match its contents"),
            std::string::npos);
  // A run with a damaged file continues from an older checkpoint. This file is not damaged.
  std::string newer = content;
  newer.replace(0, 15, "tandem replay 2");
  WriteFileAtomically(file_, newer);
  try {
    ReadReplay(file_, replay, 7);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_EQ(dynamic_cast<const DamagedFile*>(&error), nullptr);
    EXPECT_NE(std::string(error.what()).find("its layout has number 2, expected at most 1"),
              std::string::npos);
  }

  WriteFileAtomically(file_, content.substr(0, content.size() - 40));
  EXPECT_NE(ErrorOfReading(7).find("is damaged: the file ends too soon"), std::string::npos);
  WriteFileAtomically(file_, content + "x");
  EXPECT_NE(ErrorOfReading(7).find("is damaged: there are extra bytes after its hash"),
            std::string::npos);

  std::filesystem::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);  // nobody writes it, so opening it could block
  EXPECT_THROW(ReadReplay(file_, replay, 7), DamagedFile);  // an older checkpoint may have another
}

}  // namespace
}  // namespace tandem
