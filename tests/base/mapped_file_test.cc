// Files as memory, and the hash that guards them.
#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MappedFile, ShowsAFileAsItIs) {
  const TempFolder folder;
  WriteFileAtomically(folder.path() / "file", "some bytes");
  const OpenFile file(folder.path() / "file");
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(TextOf(MappedFile(file).bytes()), "some bytes");
  std::vector<std::byte> part(5);
  file.Read(5, part);
  EXPECT_EQ(TextOf(part), "bytes");
  EXPECT_THROW(file.Read(6, part), Error);
  EXPECT_THROW(OpenFile(folder.path() / "other"), Error);
  EXPECT_THROW(OpenFile(folder.path()).Read(0, part), Error);
}

TEST(OpenFile, TellsWhatTheSystemRefusesFromWhatIsNotThere) {
  const TempFolder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  EXPECT_THROW(OpenFile(folder.path() / "loop"), SystemError);
  try {
    const OpenFile file(folder.path() / "other");
    FAIL() << "nothing was thrown";
  } catch (const SystemError&) {
    FAIL() << "it is the file that is missing";
  } catch (const Error&) {
  }
}

TEST(MappedFile, AnEmptyFileIsNoBytes) {
  const TempFolder folder;
  WriteFileAtomically(folder.path() / "file", "");
  EXPECT_TRUE(MappedFile(OpenFile(folder.path() / "file")).bytes().empty());
}

TEST(MappedFile, OfItsOwnIsZeroAndCanBeWrittenAndHasNoName) {
  const TempFolder folder;
  const MappedFile map(folder.path(), 1 << 20);
  EXPECT_EQ(map.bytes().size(), 1U << 20);
  EXPECT_TRUE(std::ranges::all_of(map.bytes(), [](std::byte b) { return b == std::byte{0}; }));
  std::ranges::fill(map.bytes(), std::byte{7});
  EXPECT_EQ(map.bytes().back(), std::byte{7});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(MappedFile, WhereItCannotBeIsNamed) {
  const TempFolder folder;
  try {
    const MappedFile map(folder.path() / "no", 100);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot keep 100 bytes in a file in"),
              std::string::npos)
        << error.what();
  }
}

TEST(MappedFile, WhatTheDiskHasNoRoomForIsToldBeforeItIsWritten) {
  const TempFolder folder;
  try {
    const MappedFile map(folder.path(), std::size_t{1} << 60);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("cannot keep 1048576.0 TiB in a file in"), std::string::npos) << message;
    EXPECT_EQ(message.find("cannot be mapped"), std::string::npos) << message;
  }
}

TEST(MappedFile, LeavesNoFileOpen) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const TempFolder folder;
  WriteFileAtomically(folder.path() / "file", "some bytes");
  const auto before = open_files();
  const MappedFile own(folder.path(), 100);
  const MappedFile other(OpenFile(folder.path() / "file"));
  EXPECT_THROW(MappedFile(folder.path(), std::size_t{1} << 60), Error);
  EXPECT_EQ(open_files(), before);
}

TEST(AtomicFile, CanBeWrittenOver) {
  const TempFolder folder;
  AtomicFile file(folder.path() / "file");
  file.Write("0123456789");
  file.Overwrite(2, "ab");
  file.Write("!");
  file.Commit();
  EXPECT_EQ(ReadFile(folder.path() / "file"), "01ab456789!");
}

TEST(Hash, IsOfAllThatIsAdded) {
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
