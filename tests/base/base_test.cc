#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/random.h"
#include "base/stop_signal.h"
#include "base/text.h"
#include "base/worker.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

TEST(NumCores, IsOneIfTheThreadMayUseOneCore) {
  std::thread([] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(NumCores(), 1);
  }).join();
  EXPECT_GE(NumCores(), 1);
}

TEST(CpuQuota, IsTheLeastOfTheGroupAndItsParents) {
  const TempFolder folder;
  const fs::path process = folder.path() / "cgroup", root = folder.path() / "fs";
  const auto write = [](const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    WriteFileAtomically(file, text);
  };
  write(process, "0::/job/step\n");
  EXPECT_EQ(CpuQuota(process, root), std::nullopt);
  write(root / "job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(CpuQuota(process, root), std::nullopt);
  write(root / "job/cpu.max", "150000 100000\n");
  EXPECT_EQ(CpuQuota(process, root), 1.5);
  write(root / "cpu.max", "400000 100000\n");
  EXPECT_EQ(CpuQuota(process, root), 1.5);
}

TEST(CpuQuota, ReadsCgroupVersion1) {
  const TempFolder folder;
  const fs::path process = folder.path() / "cgroup", root = folder.path() / "fs";
  const fs::path group = root / "cpu,cpuacct/docker/x";
  WriteFileAtomically(process, "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n");
  fs::create_directories(group);
  WriteFileAtomically(group / "cpu.cfs_quota_us", "-1\n");
  WriteFileAtomically(group / "cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(process, root), std::nullopt);
  WriteFileAtomically(group / "cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(CpuQuota(process, root), 2.0);
}

TEST(Random, MatchesPublishedPhiloxVectors) {
  // From kat_vectors of Random123: philox4x64 with 10 rounds, counter and key zero.
  const r123::Philox4x64::ctr_type block =
      r123::Philox4x64{}({{0, 0, 0, 0}}, r123::Philox4x64::key_type{{0, 0}});
  EXPECT_EQ(block[0], 0x16554d9eca36314cULL);
  EXPECT_EQ(block[1], 0xdb20fe9d672d0fdcULL);
  EXPECT_EQ(block[2], 0xd7e772cee186176bULL);
  EXPECT_EQ(block[3], 0x7e68b68aec7ba23bULL);
}

TEST(Random, StreamsDifferByEveryPartOfTheirKey) {
  std::set<std::uint64_t> firsts;
  for (const std::uint64_t seed : {1, 2}) {
    for (const Purpose purpose : {Purpose::kScramble, Purpose::kShuffle}) {
      for (const std::uint64_t update : {0, 1}) {
        for (const std::uint64_t row : {0, 1}) {
          firsts.insert(Random(seed, purpose, update, row).Next());
        }
      }
    }
  }
  EXPECT_EQ(firsts.size(), 16U);
}

TEST(Random, DrawAheadChangesNoNumber) {
  constexpr std::size_t kStreams = 20;  // two groups of eight, and some that are left
  std::vector<Random> ahead;
  for (std::size_t i = 0; i < kStreams; ++i) {
    ahead.emplace_back(~i * 0x9E3779B97F4A7C15, Purpose::kScramble, i << 60, ~i);
  }
  ahead[9].Next();  // this group has streams with numbers left
  std::vector<Random> one_by_one = ahead;
  for (int draw = 0; draw < 13; ++draw) {
    Random::DrawAhead(ahead);
    for (std::size_t i = 0; i < kStreams; ++i) {
      EXPECT_EQ(ahead[i].Next(), one_by_one[i].Next()) << "stream " << i << ", number " << draw;
    }
  }
}

TEST(Random, BelowIsUniform) {
  Random random(7, Purpose::kScramble);
  std::array<int, 6> count{};
  for (int i = 0; i < 60'000; ++i) ++count[random.Below(6)];
  for (const int n : count) EXPECT_NEAR(n, 10'000, 500);  // 5.5 standard deviations
}

TEST(StopSignal, FollowsItsOuterSignalAndItsDeadline) {
  StopSignal outer;
  StopSignal inner(&outer);
  EXPECT_FALSE(inner.Reached());
  inner.SetDeadlineIn(-1);
  EXPECT_TRUE(inner.Reached());
  EXPECT_FALSE(inner.requested());
  EXPECT_FALSE(outer.Reached());
  outer.Request();
  EXPECT_TRUE(inner.requested());
}

TEST(StopSignal, IsReachedAfterItsTime) {
  StopSignal outer;
  EXPECT_TRUE(StopSignal(&outer, 0).Reached());
  const StopSignal ample(&outer, 1000);
  EXPECT_FALSE(ample.Reached());
  outer.Request();
  EXPECT_TRUE(ample.Reached());
}

TEST(StopSignal, IsReachedAtTheDeadlineOfItsOuterSignal) {
  StopSignal outer;
  const StopSignal inner(&outer);
  outer.SetDeadlineIn(-1);
  EXPECT_TRUE(inner.Reached());
  EXPECT_FALSE(inner.requested());
}

TEST(Worker, RunsTasksInOrder) {
  std::vector<int> seen;
  std::atomic<int> done{0};
  Worker worker("test");
  for (int i = 0; i < 100; ++i) {
    worker.Post([&, i] {
      seen.push_back(i);
      ++done;
    });
  }
  while (done != 100) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[i], i);
}

TEST(BackgroundTasks, RunInOrderWhileThePostingThreadGoesOn) {
  std::promise<void> go_on;
  std::vector<int> seen;
  BackgroundTasks tasks("test");
  tasks.Post([&, wait = go_on.get_future().share()] {
    wait.get();  // a deadlock if Post waited for the task
    seen.push_back(1);
  });
  go_on.set_value();
  for (int i = 2; i < 50; ++i) tasks.Post([&, i] { seen.push_back(i); });
  tasks.Wait();
  ASSERT_EQ(seen.size(), 49);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST(BackgroundTasks, PostWaitsWhileTwoTasksHaveNotEnded) {
  std::promise<void> go_on;
  std::atomic<int> ended{0};
  BackgroundTasks tasks("test");
  tasks.Post([&, wait = go_on.get_future().share()] {
    wait.get();
    ++ended;
  });
  tasks.Post([&] { ++ended; });
  auto third = std::async(std::launch::async, [&] {
    tasks.Post([] {});
    return ended.load();
  });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  go_on.set_value();
  EXPECT_GE(third.get(), 1);
}

TEST(BackgroundTasks, ThrowTheirFirstFailureOnce) {
  BackgroundTasks tasks("test");
  EXPECT_NO_THROW(tasks.ThrowFailure());
  std::atomic<bool> last{false};
  tasks.Post([] { throw Error("the disk is full"); });
  tasks.Post([] { throw 1; });
  tasks.Post([&] { last = true; });
  tasks.Wait();
  EXPECT_TRUE(last);
  EXPECT_TRUE(tasks.failed());
  EXPECT_THROW(tasks.ThrowFailure(), Error);
  EXPECT_FALSE(tasks.failed());
  EXPECT_NO_THROW(tasks.ThrowFailure());
}

TEST(BackgroundTasks, FailureEndsWaitsOfThePostingThread) {
  Interrupter interrupter;
  std::promise<void> closed;
  const Interrupter::Registration wait(
      &interrupter, [&](const std::exception_ptr& reason) { closed.set_exception(reason); });
  BackgroundTasks tasks("test", &interrupter);
  tasks.Post([] { throw Error("the disk is full"); });
  EXPECT_THROW(closed.get_future().get(), Error);
  tasks.Wait();
  EXPECT_THROW(tasks.ThrowFailure(), Error);
}

TEST(BackgroundTasks, DestructorWaitsForAllTasks) {
  std::atomic<int> ended{0};
  {
    BackgroundTasks tasks("test");
    for (int i = 0; i < 2; ++i) {
      tasks.Post([&] {
        std::this_thread::yield();
        ++ended;
      });
    }
  }
  EXPECT_EQ(ended, 2);
}

TEST(Text, NearestFindsTyposOnly) {
  const std::vector<std::string> keys = {"train.batch_size", "train.threads", "seed"};
  EXPECT_EQ(Nearest("train.batchsize", keys), "train.batch_size");
  EXPECT_EQ(Nearest("sead", keys), "seed");
  EXPECT_EQ(Nearest("colour", keys), "");
  const std::vector<std::string> longest = {std::string(101, 'a')};
  EXPECT_EQ(Nearest(std::string(100, 'a'), longest), longest.front());
  EXPECT_EQ(Nearest(std::string(101, 'a'), longest), "");  // a word of a file may be megabytes long
}

TEST(Text, PrintableEscapesWhatATerminalWouldObey) {
  EXPECT_EQ(Printable("plain\ttext\nWürfel"), "plain\ttext\nWürfel");
  EXPECT_EQ(Printable("\x1b]0;title\a"), "\\x1b]0;title\\x07");
  EXPECT_EQ(Printable("one\rtwo\x7f"), "one\\x0dtwo\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // U+009B begins a sequence by itself
  EXPECT_EQ(Printable(std::string(1, '\xc2')), "\xc2");
}

TEST(Text, ShellWordIsThePathToAShell) {
  EXPECT_EQ(ShellWord("runs/first-1.2_b"), "runs/first-1.2_b");
  EXPECT_EQ(ShellWord("runs/Würfel"), "runs/Würfel");
  EXPECT_EQ(ShellWord("my run"), "'my run'");
  EXPECT_EQ(ShellWord("$HOME;\"`*"), "'$HOME;\"`*'");
  EXPECT_EQ(ShellWord("~/run"), "'~/run'");
  EXPECT_EQ(ShellWord("it's"), R"('it'\''s')");
  EXPECT_EQ(ShellWord("-run"), "./-run");
  EXPECT_EQ(ShellWord("-my run"), "'./-my run'");
  EXPECT_EQ(ShellWord("one\ntwo's \\"), R"($'one\012two\'s \\')");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(Text, ParseNumberTakesTheWholeTextOrNothing) {
  EXPECT_EQ(ParseNumber<int>("-12"), -12);
  EXPECT_EQ(ParseNumber<double>("2.5e-1"), 0.25);
  for (const char* wrong : {"", "x", "1x", " 1", "+1", "99999999999"}) {
    EXPECT_EQ(ParseNumber<int>(wrong), std::nullopt) << wrong;
  }
}

TEST(Text, RoundedRealKeepsSixDigitsOfAnyNumber) {
  EXPECT_EQ(RoundedReal(0.123456789), 0.123457);
  EXPECT_EQ(RoundedReal(-1234567.0), -1234570.0);
  EXPECT_EQ(RoundedReal(1e-310), 1e-310);  // below the least number of full precision
  EXPECT_EQ(RoundedReal(std::numeric_limits<double>::infinity()),
            std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(RoundedReal(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Text, FormatsNumbersForReading) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(1000), "1,000");
  EXPECT_EQ(WithThousands(-1234567), "-1,234,567");
  EXPECT_EQ(WithThousands(-123456), "-123,456");
  EXPECT_EQ(Counted(1, "shard"), "1 shard");
  EXPECT_EQ(Counted(2000, "shard"), "2,000 shards");
  EXPECT_EQ(HumanSeconds(0.25), "250 ms");
  EXPECT_EQ(HumanSeconds(1), "1.0 s");
  EXPECT_EQ(HumanSeconds(60), "1 min 00 s");
  EXPECT_EQ(HumanSeconds(245), "4 min 05 s");
  EXPECT_EQ(HumanSeconds(3600), "1 h 00 min");
  EXPECT_EQ(HumanSeconds(7380), "2 h 03 min");
  EXPECT_EQ(HumanBytes(512), "512 bytes");
  EXPECT_EQ(HumanBytes(1024), "1.0 KiB");
  EXPECT_EQ(HumanBytes(1.5 * 1024 * 1024), "1.5 MiB");
  EXPECT_EQ(HumanBytes(0x1p60), "1048576.0 TiB");  // there is no larger unit
}

class Files : public testing::Test {
 protected:
  std::size_t Count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }

  const TempFolder folder_;
  const fs::path path_ = folder_.path() / "a.txt";
};

TEST_F(Files, WritingReplacesTheWholeFile) {
  WriteFileAtomically(path_, "first, which is longer");
  WriteFileAtomically(path_, "second");
  EXPECT_EQ(ReadFile(path_), "second");
  EXPECT_EQ(Count(), 1U);
}

TEST_F(Files, ByteOrderMarkIsRemovedFromATextThatHasOne) {
  EXPECT_EQ(WithoutByteOrderMark("\xEF\xBB\xBFtext"), "text");
  EXPECT_EQ(WithoutByteOrderMark("text"), "text");
}

TEST_F(Files, ReadInputRefusesCompressedTextAndUtf16InOneSentence) {
  using namespace std::string_literals;
  const auto error_of = [&](const std::string& content) -> std::string {
    WriteFileAtomically(path_, content);
    try {
      ReadInput(path_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("\x1f\x8b\x08\0\0"s), "cannot read " + path_.string() +
                                               ": it is compressed, expected text. "
                                               "Decompress it first, with gunzip.");
  EXPECT_EQ(
      error_of("\xff\xfe"
               "1\0"s),
      "cannot read " + path_.string() +
          ": it is text in UTF-16, expected UTF-8. Convert it with `iconv -f UTF-16 -t UTF-8`.");
  EXPECT_EQ(error_of("1 2 3\n"), "");
  EXPECT_NO_THROW(ReadFile(path_));
}

TEST_F(Files, ReadFileStopsBeyondItsLimit) {
  WriteFileAtomically(path_, "12345");
  EXPECT_EQ(ReadFile(path_, 5), "12345");
  EXPECT_THROW(ReadFile(path_, 4), InputError);
  EXPECT_THROW(ReadInput("/dev/zero", 1'000'000), InputError);  // it never ends
}

TEST_F(Files, ReadFileThrowsIfTheSystemCannotReadOn) {
  EXPECT_THROW(ReadFile("/proc/self/mem"), InputError);  // it has nothing at its start
}

TEST_F(Files, TheTemporaryFileIsNoLinkToAnother) {
  const fs::path other = folder_.path() / "other";
  WriteFileAtomically(other, "precious");
  fs::create_symlink(other, path_.string() + "." + std::to_string(::getpid()) + ".partial");
  EXPECT_THROW(WriteFileAtomically(path_, "text"), Error);
  EXPECT_EQ(ReadFile(other), "precious");
}

TEST_F(Files, OldFileStaysUntilCommit) {
  WriteFileAtomically(path_, "old");
  {
    AtomicFile file(path_);
    file.Write("half");
    EXPECT_EQ(ReadFile(path_), "old");
    EXPECT_EQ(Count(), 2U);
  }
  EXPECT_EQ(ReadFile(path_), "old");
  EXPECT_EQ(Count(), 1U);
}

TEST_F(Files, WritingFollowsSymbolicLinks) {
  const fs::path link = folder_.path() / "link";
  WriteFileAtomically(path_, "old");
  fs::create_symlink(path_, link);
  WriteFileAtomically(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(ReadFile(path_), "new");
}

TEST_F(Files, WritingThroughALoopOfLinksFailsAndNamesIt) {
  fs::create_symlink(path_, path_);
  try {
    WriteFileAtomically(path_, "new");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot write " + path_.string()), std::string::npos)
        << error.what();
  }
}

TEST_F(Files, WritingToAFullDeviceFails) {
  fs::create_symlink("/dev/full", path_);
  EXPECT_THROW(WriteFileAtomically(path_, std::string(1 << 20, 'x')), Error);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_TRUE(fs::is_symlink(path_));
}

TEST_F(Files, WritingToThePipeOfADescriptorReachesItsReader) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const fs::path descriptor = "/dev/fd/" + std::to_string(ends[1]);
  fs::create_symlink(descriptor, path_);
  EXPECT_NO_THROW(RequireSpace(descriptor, std::int64_t{1} << 60));
  WriteFileAtomically(descriptor, "first ");
  WriteFileAtomically(path_, "second");
  ::close(ends[1]);
  EXPECT_EQ(ReadInput("/dev/fd/" + std::to_string(ends[0])), "first second");
  ::close(ends[0]);
  EXPECT_EQ(Count(), 1U);  // the link
}

TEST_F(Files, WritingToTheFileOfADescriptorContinuesIt) {
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  const std::string same = "/dev/fd/" + std::to_string(descriptor);
  ASSERT_EQ(::write(descriptor, "first ", 6), 6);
  { const AtomicFile unused(same); }
  WriteFileAtomically(same, "second ");
  ASSERT_EQ(::write(descriptor, "third", 5), 5);
  ::close(descriptor);
  EXPECT_EQ(ReadFile(path_), "first second third");
}

TEST_F(Files, WritingToADescriptorThatIsOpenForReadingFails) {
  WriteFileAtomically(path_, "text");
  const int descriptor = ::open(path_.c_str(), O_RDONLY);
  ASSERT_GE(descriptor, 0);
  EXPECT_THROW(AtomicFile("/dev/fd/" + std::to_string(descriptor)), Error);
  ::close(descriptor);
  EXPECT_EQ(ReadFile(path_), "text");
}

TEST_F(Files, MissingSpaceErrorNamesTheBytesNeededAndFree) {
  EXPECT_NO_THROW(RequireSpace(path_, 1));
  EXPECT_NO_THROW(RequireSpace("/dev/full", std::int64_t{1} << 60));  // a device has no size
  EXPECT_NO_THROW(RequireSpace(folder_.path(), 1));
  EXPECT_THROW(RequireSpace(folder_.path(), std::int64_t{1} << 60), Error);
  try {
    RequireSpace(path_, std::int64_t{1} << 60);
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("a.txt: it needs 1,152,921,504,606,846,976 bytes ("), std::string::npos)
        << what;
    EXPECT_NE(what.find(" bytes ("), what.rfind(" bytes (")) << what;
  }
  EXPECT_EQ(Count(), 0U);
}

TEST_F(Files, RequireNoPipeRejectsPipesAndDevices) {
  EXPECT_NO_THROW(RequireNoPipe(path_));
  WriteFileAtomically(path_, "text");
  EXPECT_NO_THROW(RequireNoPipe(path_));
  EXPECT_NO_THROW(RequireNoPipe(folder_.path()));
  EXPECT_THROW(RequireNoPipe("/dev/null"), InputError);
  ASSERT_EQ(::mkfifo((folder_.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(RequireNoPipe(folder_.path() / "pipe"), InputError);
}

// A pipe that nobody writes would block forever.
TEST_F(Files, ReadFileRejectsPipesAndDevices) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  for (const fs::path& path : {path_, fs::path("/dev/null")}) {
    try {
      ReadFile(path);
      FAIL() << "nothing was thrown";
    } catch (const InputError& error) {
      EXPECT_EQ(
          std::string(error.what()),
          "cannot read " + path.string() + ": it is a pipe or a device, expected a regular file");
    }
  }
}

TEST_F(Files, ReadInputReadsPipesAndDevices) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "text", 4), 4);
  ::close(ends[1]);
  EXPECT_EQ(ReadInput("/dev/fd/" + std::to_string(ends[0])), "text");
  ::close(ends[0]);
  EXPECT_EQ(ReadInput("/dev/null"), "");
}

TEST_F(Files, ListsRenamesAndRemovesEntries) {
  WriteFileAtomically(folder_.path() / "b", "");
  WriteFileAtomically(folder_.path() / "a", "");
  EXPECT_EQ(EntryNames(folder_.path()), (std::vector<std::string>{"a", "b"}));
  RenameFile(folder_.path() / "b", folder_.path() / "c");
  RemoveFile(folder_.path() / "a");
  RemoveFile(folder_.path() / "a");
  EXPECT_EQ(EntryNames(folder_.path()), std::vector<std::string>{"c"});
  EXPECT_THROW(RenameFile(folder_.path() / "b", folder_.path() / "c"), Error);
  EXPECT_THROW(EntryNames(folder_.path() / "missing"), Error);
}

// As on CIFS and 9p.
TEST(File, FolderWhoseFileSystemCannotSyncFoldersIsNoError) {
  const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::fsync(folder), -1);
  ASSERT_EQ(errno, EINVAL);
  ::close(folder);
  EXPECT_NO_THROW(SyncFolder("/proc"));
  EXPECT_THROW(SyncFolder("/no/such/folder"), Error);
}

// Of folders, NFS locks only the local view.
TEST(FolderLock, IsOnARegularFileOpenForWriting) {
  const TempFolder folder;
  const fs::path file = folder.path() / ".lock";
  const FolderLock lock(file, "taken", "caution");
  EXPECT_TRUE(fs::is_regular_file(file));
  const int other = ::open(file.c_str(), O_RDWR);
  EXPECT_EQ(::flock(other, LOCK_EX | LOCK_NB), -1);
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code closed;  // the iterator's own descriptor
    const int number = std::stoi(entry.path().filename().string());
    if (fs::read_symlink(entry.path(), closed) != file || number == other) continue;
    EXPECT_EQ(::fcntl(number, F_GETFL) & O_ACCMODE, O_RDWR);
  }
  ::close(other);
}

TEST(File, ParsesNamesOfPartialFiles) {
  const auto partial = ParsePartialName("checkpoint.safetensors.1234.partial");
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->name, "checkpoint.safetensors");
  EXPECT_EQ(partial->process, 1234);
  for (const char* other : {"checkpoint.safetensors", "a.partial", "a..partial", "a.0.partial",
                            "a.-1.partial", "a.12x.partial", "a.99999999999.partial"}) {
    EXPECT_FALSE(ParsePartialName(other)) << other;
  }
}

TEST(Json, RejectsDeepNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(ParseJson(nested(kMaxJsonNesting)));
  EXPECT_THROW(ParseJson(nested(kMaxJsonNesting + 2)), Error);
  EXPECT_THROW(ParseJson(nested(200'000)), Error);
  EXPECT_THROW(ParseJson(std::string(200'000, '[')), Error);
  EXPECT_TRUE(ParseJsonOrDiscard(nested(200'000)).is_discarded());
  EXPECT_TRUE(ParseJsonOrDiscard("{").is_discarded());
}

TEST(Json, RejectsLongNames) {
  const auto named = [](std::size_t length) { return "{\"" + std::string(length, 'a') + "\": 1}"; };
  EXPECT_NO_THROW(ParseJson(named(kMaxJsonName)));
  EXPECT_THROW(ParseJson(named(kMaxJsonName + 1)), Error);
}

TEST(Json, RejectsANameThatIsTwiceInAnObject) {
  EXPECT_NO_THROW(ParseJson(R"([{"a": {"a": 1}}, {"a": 2, "b": {"a": []}}])"));
  EXPECT_THROW(ParseJson(R"({"a": 1, "b": 2, "a": 1})"), Error);
  EXPECT_THROW(ParseJson(R"({"b": [{"a": {}, "a": {}}]})"), Error);
  EXPECT_THROW(ParseJson<nlohmann::ordered_json>(R"({"a": 1, "a": 2})"), Error);
}

TEST(Json, SaysWhyALineIsNoObject) {
  const auto message = [](std::string_view line) {
    try {
      ParseJsonObject(line);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(ParseJsonObject(R"({"a": 1})")["a"], 1);
  EXPECT_EQ(message("{"), "expected a JSON object, found invalid JSON at byte 2");
  EXPECT_EQ(message(R"({"a": 1,, "b": 2})"),
            "expected a JSON object, found invalid JSON at byte 9");
  EXPECT_EQ(message("[1]"), "expected a JSON object, found [1]");
  EXPECT_EQ(message("\"" + std::string(100, 'x') + "\""),
            "expected a JSON object, found \"" + std::string(59, 'x') + "...");
  EXPECT_EQ(message(R"({"a": 1, "a": 2})"),
            "cannot read the JSON object: an object in its JSON has a name twice");
}

// An ordered object compares each name with all others.
TEST(Json, RejectsManyNamesIfTheirOrderIsKept) {
  const auto object = [](std::size_t names) {
    std::string text = "{";
    for (std::size_t i = 0; i < names; ++i) text += "\"" + std::to_string(i) + "\": 1,";
    text.back() = '}';
    return text;
  };
  const std::string many = object(kMaxOrderedJsonNames + 1);
  EXPECT_NO_THROW(ParseJson(many));
  EXPECT_THROW(ParseJson<nlohmann::ordered_json>(many), Error);
  EXPECT_NO_THROW(ParseJson<nlohmann::ordered_json>(object(kMaxOrderedJsonNames)));
}

TEST(Json, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(DumpJson(nlohmann::json("a\xff")), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(AsUtf8("a\xff"), "a\xEF\xBF\xBD");
}

TEST_F(Files, ErrorsNameThePath) {
  try {
    ReadFile(folder_.path() / "missing.txt");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("missing.txt: No such file"), std::string::npos);
  }
  try {
    ReadFile(folder_.path());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("it is a folder"), std::string::npos);
  }
  try {
    WriteFileAtomically(folder_.path() / "no" / "such" / "folder", "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("folder: No such file"), std::string::npos);
  }
}

TEST(Log, MessagesAppearAboveTheStatusLine) {
  constexpr const char* kErase = "\r\x1b[K";
  testing::internal::CaptureStderr();
  ShowStatus("50 %");
  LogInfo("one");
  ShowStatus("60 %");
  LeaveStatus();
  LogWarning("two");
  const std::string erase = kErase;
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            erase + "50 %" + erase + "one\n" + erase + "50 %" + erase + "60 %\nwarning: two\n");
}

TEST(Log, NothingIsErasedWithoutAStatusLine) {
  testing::internal::CaptureStderr();
  LeaveStatus();
  LogInfo("one");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "one\n");
}

}  // namespace
}  // namespace tandem
