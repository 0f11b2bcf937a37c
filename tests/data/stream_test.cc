// Tests which rows of a stream a run uses: claims, the age limit, files that are left out or
// removed, and the ledger across a kill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "base/file.h"
#include "data/examples.h"
#include "data/stream_folder.h"
#include "data/stream_reader.h"
#include "generate/shard_jobs.h"
#include "support/temp_folder.h"
#include "support/wait.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kRows = 8;
constexpr std::int64_t kMaxLag = 100;

class Stream : public testing::Test {
 protected:
  Stream() { folder_.Create(); }

  static Config MakeConfig() {
    Config config;
    config.domain = {.name = "npuzzle", .argument = "3"};
    config.generate.target = Target::kValueIteration;
    return config;
  }

  static StreamShardName Name(std::int64_t start, std::int64_t number, std::int64_t version,
                              const std::string& generator = "a") {
    return {.first_row = start * kRowsPerStart + number * kRows,
            .rows = kRows,
            .version = version,
            .generator = generator};
  }

  // Writes a shard whose labels are `label`.
  StreamShardName Write(const StreamShardName& name, float label = 1) {
    DataBuffer rows(kind_.schema, static_cast<std::size_t>(name.rows));
    std::ranges::fill(rows.floats(kTargetColumn), label);
    WriteStreamShard(folder_.path(), kind_, name, rows);
    return name;
  }

  // Puts a shard in place of a link, at once. A write would follow the link.
  void ReplaceLink(const StreamShardName& name) {
    WriteStreamShard(temp_.path(), kind_, name,
                     DataBuffer(kind_.schema, static_cast<std::size_t>(name.rows)));
    fs::rename(temp_.path() / FormatStreamShardName(name), PathOf(name));
  }

  StreamOptions Options(const std::string& first = "") const {
    return {.kind = kind_, .input_depth = 9, .read_ahead = 2, .first = first};
  }

  fs::path PathOf(const StreamShardName& name) const {
    return folder_.path() / FormatStreamShardName(name);
  }

  const TempFolder temp_;
  const StreamFolder folder_{temp_.path() / "stream"};
  const std::unique_ptr<const Domain> domain_ = MakeDomain("npuzzle:3");
  const ShardSetSpec kind_ = StreamKind(MakeConfig(), domain_->spec());
  const StopSignal never_;
};

TEST_F(Stream, ANameIsReadBack) {
  const StreamShardName name = Name(3, 5, 12, "host-1.b_c");
  EXPECT_EQ(FormatStreamShardName(name), "rows-0000000206158430248-8-v12-host-1.b_c.tandem");
  EXPECT_EQ(ParseStreamShardName(FormatStreamShardName(name)), name);
}

TEST_F(Stream, OtherNamesAreNotShards) {
  for (const char* name :
       {"", "shard-000000.tandem", "rows-1-8-v1-a.tandem", "rows-0000000000000000000-0-v1-a.tandem",
        "rows-0000000000000000000-8-v01-a.tandem", "rows-0000000000000000000-8-v1-.tandem",
        "rows-9999999999999999999-8-v1-a.tandem", "rows-0000000000000000000-999999999-v1-a.tandem",
        "rows-0000000000000000000-8-v1-a.tandem.12.partial",
        "../rows-0000000000000000000-8-v1-a.tandem", "rows-0000000000000000000-8-v1-a/b.tandem"}) {
    EXPECT_EQ(ParseStreamShardName(name), std::nullopt) << name;
  }
}

TEST_F(Stream, GeneratorNamesHaveOneToSixtyCharacters) {
  const std::string longest(60, 'a');
  EXPECT_TRUE(IsGeneratorName("a"));
  EXPECT_TRUE(IsGeneratorName(longest));
  EXPECT_FALSE(IsGeneratorName(""));
  EXPECT_FALSE(IsGeneratorName(longest + "a"));
  EXPECT_FALSE(IsGeneratorName("a/b"));
  EXPECT_TRUE(ParseStreamShardName(FormatStreamShardName(Name(0, 0, 1, longest))).has_value());
  EXPECT_FALSE(
      ParseStreamShardName(FormatStreamShardName(Name(0, 0, 1, longest + "a"))).has_value());
}

TEST_F(Stream, ShardsOfOlderWeightsComeFirstAndGeneratorsTakeTurns) {
  const auto second = Write(Name(0, 1, 4));
  const auto first = Write(Name(0, 0, 4));
  const auto of_other = Write(Name(1, 0, 4, "b"));
  const auto older = Write(Name(1, 7, 3, "b"));
  EXPECT_THAT(folder_.List().waiting, ElementsAre(older, first, of_other, second));
}

TEST_F(Stream, NoTwoStartsOfAnyGeneratorGetTheSameRows) {
  std::mutex mutex;
  std::multiset<std::int64_t> starts;
  std::vector<std::jthread> generators;
  for (int i = 0; i < 4; ++i) {
    generators.emplace_back([&] {
      for (int k = 0; k < 25; ++k) {
        const std::int64_t start = folder_.ClaimStart("same-name");
        const std::lock_guard lock(mutex);
        starts.insert(start);
      }
    });
  }
  generators.clear();
  EXPECT_EQ(starts.size(), 100);
  EXPECT_EQ(std::set(starts.begin(), starts.end()).size(), 100);
}

TEST_F(Stream, FileInGeneratorsBeyondTheLastStartIsNoStart) {
  EXPECT_EQ(folder_.ClaimStart("a"), 0);
  WriteFileAtomically(folder_.path() / "generators" / "9223372036854775807", "");
  EXPECT_EQ(folder_.ClaimStart("a"), 1);
}

TEST_F(Stream, TakesEachShardOnceWithItsRows) {
  Write(Name(0, 0, 1), 2);
  Write(Name(0, 1, 1), 3);
  StreamLedger ledger(folder_, {}, kMaxLag);
  StreamReader reader(folder_, Options(), never_, nullptr);
  for (const float label : {2.0F, 3.0F}) {
    const auto shard = reader.Take(/*wait=*/true);
    EXPECT_EQ(shard->rows.floats(kTargetColumn)[0], label);
    EXPECT_EQ(ledger.Begin(shard->name, 1), 0);
    ledger.Use(kRows, 1);
    ledger.End();
  }
  EXPECT_FALSE(reader.Take(/*wait=*/false));
  EXPECT_THAT(folder_.List().waiting, IsEmpty());
  EXPECT_EQ(ledger.position().used_rows, 2 * kRows);
}

TEST_F(Stream, AShardThatAppearsEndsTheWaitForIt) {
  StreamReader reader(folder_, Options(), never_, nullptr);
  auto taken = std::async(std::launch::async, [&] { return reader.Take(/*wait=*/true); });
  EXPECT_EQ(taken.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  Write(Name(0, 0, 1));
  EXPECT_EQ(taken.get()->name, Name(0, 0, 1));
}

TEST_F(Stream, ShardOfOlderWeightsThatAppearsWhileThereIsNoRoomIsReadNext) {
  const auto first = Write(Name(0, 0, 2));
  const auto second = Write(Name(0, 1, 2));
  StreamOptions options = Options();
  options.read_ahead = 1;
  StreamReader reader(folder_, options, never_, nullptr);
  WaitUntil([&] { return reader.waiting() == 2; });
  const auto older = Write(Name(1, 0, 1, "b"));
  for (const StreamShardName& name : {first, older, second}) {
    EXPECT_EQ(reader.Take(/*wait=*/true)->name, name);
  }
}

TEST_F(Stream, AStopAndAnInterruptionEndTheWait) {
  StopSignal stop;
  StreamReader stopped(folder_, Options(), stop, nullptr);
  auto until_stop = std::async(std::launch::async, [&] { stopped.Take(/*wait=*/true); });
  EXPECT_EQ(until_stop.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  stop.Request();
  EXPECT_THROW(until_stop.get(), Stopped);
  Interrupter interrupter;
  StreamReader interrupted(folder_, Options(), never_, &interrupter);
  auto until_error = std::async(std::launch::async, [&] { interrupted.Take(/*wait=*/true); });
  EXPECT_EQ(until_error.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  interrupter.Interrupt(std::make_exception_ptr(Error("no progress")));
  EXPECT_THROW(until_error.get(), Error);
}

TEST_F(Stream, TooOldShardsAreDroppedAndCounted) {
  const StreamShardName old = Write(Name(0, 0, 3));
  const StreamShardName newer = Write(Name(0, 1, 8));
  StreamLedger ledger(folder_, {}, /*max_lag=*/4);
  ledger.OnPublish(9);
  EXPECT_EQ(ledger.Begin(old, 10), std::nullopt);
  EXPECT_EQ(ledger.Begin(newer, 10), 0);
  EXPECT_THAT(folder_.List().waiting, ElementsAre(newer));
  EXPECT_THAT(folder_.Used(), ElementsAre(FormatStreamShardName(old)));
  EXPECT_EQ(ledger.TakeUse().dropped_rows, kRows);
  EXPECT_EQ(ledger.position().dropped_shards, 1);
  EXPECT_EQ(ledger.position().used_rows, 0);
  const std::vector<DoneShard> done = ledger.TakeDone();
  ASSERT_EQ(done.size(), 1);
  EXPECT_EQ(done[0].rows_used, 0);
  EXPECT_EQ(done[0].lag, 7);
}

TEST_F(Stream, OnlyTheRemainingRowsOfAShardThatWasUsedInPartAreDropped) {
  const StreamShardName in_part = Write(Name(0, 0, 3));
  StreamLedger ledger(
      folder_, {.current = FormatStreamShardName(in_part), .current_rows = 2, .used_rows = 2},
      /*max_lag=*/4);
  ledger.OnPublish(9);
  EXPECT_EQ(ledger.Begin(in_part, 10), std::nullopt);
  EXPECT_EQ(ledger.position().dropped_rows, kRows - 2);
  EXPECT_EQ(ledger.position().used_rows, 2);
  EXPECT_EQ(ledger.position().current, "");
}

TEST_F(Stream, RowsAreTooOldOneUpdateBeyondMaxLag) {
  StreamLedger ledger(folder_, {}, /*max_lag=*/4);
  ledger.OnPublish(9);
  EXPECT_FALSE(ledger.IsTooOld(/*version=*/8, /*update=*/12));
  EXPECT_TRUE(ledger.IsTooOld(/*version=*/8, /*update=*/13));
  EXPECT_FALSE(ledger.IsTooOld(/*version=*/9, /*update=*/14));  // the published weights
}

TEST_F(Stream, RowsOfThePublishedWeightsAreNeverTooOld) {
  StreamLedger ledger(folder_, {}, /*max_lag=*/4);
  ledger.OnPublish(3);
  EXPECT_EQ(ledger.Begin(Write(Name(0, 0, 3)), 1000), 0);
}

TEST_F(Stream, TornAndWrongFilesAreLeftOut) {
  const auto torn = Write(Name(0, 0, 1));
  fs::resize_file(PathOf(torn), fs::file_size(PathOf(torn)) - 1);
  const auto altered = Write(Name(0, 1, 1));
  std::string bytes = ReadFile(PathOf(altered));
  bytes.back() ^= 1;
  WriteFileAtomically(PathOf(altered), bytes);
  fs::rename(PathOf(Write(Name(0, 2, 1))), PathOf(Name(0, 3, 1)));  // the name of other rows
  Config other = MakeConfig();
  other.generate.max_scramble = 7;
  DataBuffer rows(kind_.schema, kRows);
  WriteStreamShard(folder_.path(), StreamKind(other, domain_->spec()), Name(0, 4, 1), rows);
  Write(Name(0, 5, 1), -1);  // a label below 0
  WriteFileAtomically(folder_.path() / "shard-000000.tandem", "?");
  const auto good = Write(Name(0, 6, 1));

  StreamReader reader(folder_, Options(), never_, nullptr);
  EXPECT_EQ(reader.Take(/*wait=*/true)->name, good);
  WaitUntil([&] { return reader.rejected() == 6; });
  EXPECT_THAT(folder_.List().waiting, ElementsAre(good));
  EXPECT_EQ(std::ssize(EntryNames(folder_.path() / "rejected")), 6);
}

TEST_F(Stream, FileThatTheSystemRefusesToReadIsTriedAgain) {
  const StreamShardName refused = Name(0, 0, 1);
  fs::create_symlink(PathOf(refused), PathOf(refused));  // a loop
  const auto good = Write(Name(0, 1, 1));
  StreamReader reader(folder_, Options(), never_, nullptr);
  EXPECT_EQ(reader.Take(/*wait=*/true)->name, good);
  EXPECT_EQ(reader.rejected(), 0);
  ReplaceLink(refused);
  EXPECT_EQ(reader.Take(/*wait=*/true)->name, refused);
}

// Without that, the link would be read again at once, and no shard after it would be used.
TEST_F(Stream, LinkWhoseTargetIsMissingIsLeftOut) {
  const StreamShardName dangling = Name(0, 0, 1);
  fs::create_symlink(folder_.path() / "missing", PathOf(dangling));
  const auto good = Write(Name(0, 1, 1));
  StreamReader reader(folder_, Options(), never_, nullptr);
  WaitUntil([&] { return reader.rejected() == 1; });
  EXPECT_EQ(reader.Take(/*wait=*/true)->name, good);
  EXPECT_EQ(std::ssize(EntryNames(folder_.path() / "rejected")), 1);
}

TEST_F(Stream, OneTrainerAtATimeLocksTheFolder) {
  {
    const FolderLock lock = folder_.Lock();
    EXPECT_THAT([&] { return folder_.Lock(); },
                testing::ThrowsMessage<InputError>(
                    HasSubstr("another run takes the shards of this stream; set data.path")));
  }
  EXPECT_NO_THROW(folder_.Lock());
}

TEST_F(Stream, LackOfMemoryIsNotDamage) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers reserve memory of their own";
#endif
  // With 13 bytes a row, more than the 64 MiB that malloc reserves for a thread.
  const StreamShardName large{.rows = 1 << 23, .version = 1, .generator = "a"};
  Write(large);
  const auto read_with_little_memory = [&] {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;  // those that the process has
    const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (16 << 20);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      ReadStreamShard(folder_.path(), kind_, large, /*input_depth=*/9);
    } catch (const SystemError& error) {
      std::_Exit(std::string(error.what()).find("not enough memory") == std::string::npos ? 1 : 0);
    } catch (const Error&) {
      std::_Exit(2);
    }
    std::_Exit(3);
  };
  EXPECT_EXIT(read_with_little_memory(), testing::ExitedWithCode(0), "");
}

TEST_F(Stream, ShardWithAWrongWeightIsRefused) {
  ShardSetSpec kind = kind_;
  kind.schema = ExampleSchema(domain_->spec(), Head::kQ, /*weighted=*/true);
  DataBuffer rows(kind.schema, kRows);
  rows.floats(kWeightColumn, /*row=*/5)[2] = -1;
  WriteStreamShard(folder_.path(), kind, Name(0, 0, 1), rows);
  EXPECT_THAT([&] { ReadStreamShard(folder_.path(), kind, Name(0, 0, 1), /*input_depth=*/9); },
              testing::ThrowsMessage<Error>(HasSubstr("weight 2 of row 5 is -1")));
}

// A ledger knows how many rows were used of one shard only.
TEST_F(Stream, OtherShardsWaitForTheOneThatWasUsedInPart) {
  const StreamShardName in_part = Name(0, 5, 2);
  fs::create_symlink(PathOf(in_part), PathOf(in_part));  // a loop
  const auto other = Write(Name(0, 0, 1));
  StreamReader reader(folder_, Options(FormatStreamShardName(in_part)), never_, nullptr);
  WaitUntil([&] { return reader.waiting() == 2; });
  EXPECT_FALSE(reader.Take(/*wait=*/false));
  ReplaceLink(in_part);
  EXPECT_EQ(reader.Take(/*wait=*/true)->name, in_part);
  EXPECT_EQ(reader.Take(/*wait=*/true)->name, other);
}

TEST_F(Stream, RejectedFileReplacesAnEarlierOneOfTheSameName) {
  for (const char* content : {"first", "second"}) {
    WriteFileAtomically(folder_.path() / "stray.tandem", content);
    folder_.Reject("stray.tandem");
  }
  EXPECT_EQ(std::ssize(EntryNames(folder_.path() / "rejected")), 1);
  EXPECT_EQ(ReadFile(folder_.path() / "rejected" / "stray.tandem"), "second");
}

TEST_F(Stream, LeftoversAreUnfinishedFilesUntouchedForTenMinutes) {
  const auto write = [this](const std::string& file, std::chrono::minutes age) {
    const fs::path path = folder_.path() / file;
    WriteFileAtomically(path, "half");
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    return path;
  };
  const fs::path abandoned = write("a.tandem.12.partial", std::chrono::minutes(11));
  const fs::path recent = write("b.tandem.12.partial", std::chrono::minutes(9));
  const fs::path finished = write("c.tandem", std::chrono::minutes(60));
  folder_.RemoveLeftovers();
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(recent));
  EXPECT_TRUE(fs::exists(finished));
}

TEST_F(Stream, AResumedRunUsesExactlyTheRowsThatItsCheckpointDoesNotCount) {
  for (std::int64_t i = 0; i < 4; ++i) Write(Name(0, i, 1));
  StreamPosition checkpoint;
  {
    StreamLedger ledger(folder_, {}, kMaxLag);
    StreamReader reader(folder_, Options(), never_, nullptr);
    const auto begin_next = [&] { ledger.Begin(reader.Take(/*wait=*/true)->name, 1); };
    begin_next();
    ledger.Use(kRows, 1);
    ledger.End();
    begin_next();
    ledger.Use(3, 1);
    checkpoint = ledger.position();
    ledger.Use(kRows - 3, 1);  // from here on, the checkpoint does not know of it
    ledger.End();
    begin_next();
    ledger.Use(kRows, 1);
    ledger.End();
  }
  StreamLedger ledger(folder_, checkpoint, kMaxLag);
  EXPECT_THAT(folder_.List().waiting, ElementsAre(Name(0, 1, 1), Name(0, 2, 1), Name(0, 3, 1)));
  EXPECT_THAT(folder_.Used(), IsEmpty());
  StreamReader reader(folder_, Options(checkpoint.current), never_, nullptr);
  const auto in_part = reader.Take(/*wait=*/true);
  EXPECT_EQ(in_part->name, Name(0, 1, 1));
  EXPECT_EQ(ledger.Begin(in_part->name, 1), 3);
  ledger.Use(kRows - 3, 1);
  ledger.End();
  EXPECT_EQ(ledger.Begin(reader.Take(/*wait=*/true)->name, 1), 0);
  EXPECT_EQ(ledger.position().used_rows, 2 * kRows);
}

// A move to used/ is durable only once a checkpoint has counted it.
TEST_F(Stream, PowerFailureThatUndoesAMoveDoesNotBringBackACountedShard) {
  const StreamShardName counted = Write(Name(0, 0, 1));
  const StreamShardName other = Write(Name(0, 1, 1));
  StreamPosition checkpoint;
  {
    StreamLedger ledger(folder_, {}, kMaxLag);
    ledger.Begin(counted, 1);
    ledger.Use(kRows, 1);
    ledger.End();
    checkpoint = ledger.position();
  }
  folder_.MarkUnused({FormatStreamShardName(counted)});
  const StreamLedger ledger(folder_, checkpoint, kMaxLag);
  EXPECT_THAT(folder_.List().waiting, ElementsAre(other));
  EXPECT_THAT(folder_.Used(), IsEmpty());
  EXPECT_EQ(ledger.position().used_rows, kRows);
}

TEST_F(Stream, AShardUsedInPartComesFirstAfterAResume) {
  Write(Name(0, 5, 2));
  const std::string file = FormatStreamShardName(Name(0, 5, 2));
  Write(Name(0, 0, 1));  // older weights
  StreamLedger ledger(folder_, {.current = file, .current_rows = 2, .used_rows = 2}, kMaxLag);
  StreamReader reader(folder_, Options(file), never_, nullptr);
  const auto shard = reader.Take(/*wait=*/true);
  EXPECT_EQ(shard->name, Name(0, 5, 2));
  EXPECT_EQ(ledger.Begin(shard->name, 2), 2);
}

TEST_F(Stream, UsedShardsAreDeletedWhenACheckpointCountsThem) {
  Write(Name(0, 0, 1));
  Write(Name(0, 1, 1));
  StreamLedger ledger(folder_, {}, kMaxLag);
  ledger.Begin(Name(0, 0, 1), 1);
  ledger.Use(kRows, 1);
  ledger.End();
  const StreamPosition checkpoint = ledger.position();
  ledger.Begin(Name(0, 1, 1), 2);
  ledger.Use(kRows, 2);
  ledger.End();
  ledger.OnCheckpoint(checkpoint);
  EXPECT_THAT(folder_.Used(), ElementsAre(FormatStreamShardName(Name(0, 1, 1))));
  EXPECT_THAT(ledger.position().done, ElementsAre(FormatStreamShardName(Name(0, 1, 1))));
}

TEST_F(Stream, TheLedgerReportsLagAndRowsOfEachGenerator) {
  Write(Name(0, 0, 1, "a"));
  Write(Name(1, 0, 4, "b"));
  StreamLedger ledger(folder_, {}, kMaxLag);
  ledger.Begin(Name(0, 0, 1, "a"), 5);
  ledger.Use(kRows, 5);
  ledger.End();
  ledger.Begin(Name(1, 0, 4, "b"), 5);
  ledger.Use(2, 5);
  const StreamUse use = ledger.TakeUse();
  EXPECT_EQ(use.rows, kRows + 2);
  EXPECT_EQ(use.lag_min, 1);
  EXPECT_EQ(use.lag_max, 4);
  EXPECT_EQ(use.lag_sum, 4 * kRows + 2);
  EXPECT_THAT(use.rows_by_generator, ElementsAre(std::pair("a", kRows), std::pair("b", 2)));
  EXPECT_EQ(ledger.TakeUse().rows, 0);
  ASSERT_EQ(ledger.TakeDone().size(), 1);
}

TEST(StreamManifest, IsReadBack) {
  const StreamManifest manifest{.ended = true,
                                .domain = "cube3",
                                .version = 7,
                                .weights_sha256 = "abc",
                                .config = "seed: 1\n"};
  EXPECT_EQ(ParseManifest(FormatManifest(manifest)), manifest);
}

TEST(StreamManifest, OtherTextsAreRefused) {
  std::string negative = FormatManifest({.version = 7});
  negative.replace(negative.find("\"version\": 7"), 12, "\"version\": -7");
  std::string later = FormatManifest({.version = 7});
  later.replace(later.find("\"schema\": 1"), 11, "\"schema\": 2");
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[1]"), negative,
                                  later, std::string(200, '[')}) {
    EXPECT_THROW(ParseManifest(text), InputError) << text;
  }
}

}  // namespace
}  // namespace tandem
