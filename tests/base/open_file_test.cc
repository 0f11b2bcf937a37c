// Tests of open files, atomic files and the hash.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

TEST(OpenFile, ReadsTheBytesOfTheFile) {
  const TempFolder folder;
  WriteFileAtomically(folder.path() / "file", "some bytes");
  const OpenFile file(folder.path() / "file");
  EXPECT_EQ(file.size(), 10);
  std::vector<std::byte> part(5);
  file.Read(5, part);
  EXPECT_EQ(TextOf(part), "bytes");
  EXPECT_THROW(file.Read(6, part), Error);
  EXPECT_THROW(OpenFile(folder.path() / "other"), Error);
  EXPECT_THROW(OpenFile(folder.path()).Read(0, part), Error);
}

TEST(OpenFile, MissingFileIsNotASystemError) {
  const TempFolder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  EXPECT_THROW(OpenFile(folder.path() / "loop"), SystemError);
  try {
    const OpenFile file(folder.path() / "other");
    FAIL() << "nothing was thrown";
  } catch (const SystemError&) {
    FAIL() << "SystemError for a missing file";
  } catch (const Error&) {
  }
}

TEST(OpenFile, RejectsAPipeWithoutBlocking) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  try {
    const OpenFile file(folder.path() / "pipe");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "it is a pipe or a device, expected a regular file");
  }
}

TEST(OpenFile, HolesAreNotData) {
  const TempFolder folder;
  const std::filesystem::path path = folder.path() / "file";
  WriteFileAtomically(path, std::string(1 << 20, 'x'));
  EXPECT_EQ(OpenFile(path).data_bytes(), 1 << 20);
  std::filesystem::resize_file(path, std::uintmax_t{1} << 32);
  EXPECT_EQ(OpenFile(path).size(), std::int64_t{1} << 32);
  if (OpenFile(path).data_bytes() == OpenFile(path).size()) {
    GTEST_SKIP() << "the file system does not say where holes are";
  }
  EXPECT_EQ(OpenFile(path).data_bytes(), 1 << 20);
  WriteFileAtomically(path, "");
  EXPECT_EQ(OpenFile(path).data_bytes(), 0);
}

TEST(AtomicFile, OverwriteReplacesEarlierBytes) {
  const TempFolder folder;
  AtomicFile file(folder.path() / "file");
  file.Write("0123456789");
  file.Overwrite(2, "ab");
  file.Write("!");
  file.Commit();
  EXPECT_EQ(ReadFile(folder.path() / "file"), "01ab456789!");
}

TEST(AtomicFile, TruncateAfterAFailedWriteKeepsTheRest) {
  const TempFolder folder;
  const std::filesystem::path path = folder.path() / "file";
  const auto write_under_limit = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    AtomicFile file(path);
    file.Write(std::string(900, 'a'));
    const std::int64_t whole = file.size();
    try {
      file.Write(std::string(200, 'b'));
      std::_Exit(1);
    } catch (const Error& error) {
      if (std::string(error.what()).find("file: File too large") == std::string::npos)
        std::_Exit(2);
    }
    file.Truncate(whole);
    file.Commit();
    std::_Exit(0);
  };
  EXPECT_EXIT(write_under_limit(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(ReadFile(path), std::string(900, 'a'));
}

TEST(Hash, DependsOnAllAddedBytes) {
  Hash parts, whole, other;
  parts.Add("some ");
  parts.Add("bytes");
  whole.Add("some bytes");
  other.Add("some bytes!");
  EXPECT_EQ(parts.Hex(), whole.Hex());
  EXPECT_NE(other.Hex(), whole.Hex());
  EXPECT_EQ(whole.Hex().size(), kHashDigits);
}

}  // namespace
}  // namespace tandem
