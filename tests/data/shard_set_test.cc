// Tests that shards on disk hold what was generated, and that damage is reported.
#include "data/shard_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <functional>

#include "base/file.h"
#include "data/shard_file.h"
#include "support/example_sets.h"
#include "support/temp_folder.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Reads a chunk into a new buffer.
DataBuffer Chunk(const ShardSet& set, std::int64_t chunk) {
  std::vector<std::byte> bytes(set.spec().BytesOfChunk(0));
  set.Read(chunk, bytes);
  DataBuffer rows(set.spec().schema, static_cast<std::size_t>(set.spec().RowsOfChunk(chunk)));
  for (std::size_t c = 0; c < rows.schema().columns.size(); ++c) {
    std::memcpy(rows.column(c).data(),
                bytes.data() + DataBuffer::OffsetOf(c, rows.schema(), rows.rows()),
                rows.column(c).bytes().size());
  }
  return rows;
}

// All rows of a set, generated in one request.
DataBuffer AllRows(const ShardSetSpec& set) {
  const Config config = Puzzle8Config();
  const auto domain = MakeDomain(config.domain.full_name());
  DataBuffer rows(set.schema, static_cast<std::size_t>(set.examples));
  const StopSignal stop;
  MakeGenerator(*domain, config, nullptr)
      ->Fill({.update = -1, .first_row = 0, .rows = set.examples}, rows, stop);
  return rows;
}

void ExpectRows(const ShardSet& set) {
  const DataBuffer all = AllRows(set.spec());
  for (std::int64_t c = 0; c < set.spec().num_chunks(); ++c) {
    const DataBuffer chunk = Chunk(set, c);
    const auto first = static_cast<std::size_t>(c * set.spec().chunk_rows);
    for (std::size_t i = 0; i < all.schema().columns.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(chunk.column(i).bytes(),
                                     all.column(i).Slice(first, chunk.rows()).bytes()))
          << "chunk " << c << ", column " << i;
    }
  }
}

void Overwrite(const std::filesystem::path& path, std::int64_t at, char value) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(at);
  file.put(value);
}

// Flips one bit of the byte at offset `at`.
void Alter(const std::filesystem::path& path, std::int64_t at) {
  const std::string content = ReadFile(path);
  Overwrite(path, at, static_cast<char>(content[static_cast<std::size_t>(at)] ^ 4));
}

TEST(ShardSet, ReadsTheGeneratedRows) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    const TempFolder folder;
    MakeShards(folder.path(), SmallShards(compression));
    const ShardSet set(folder.path());
    EXPECT_EQ(set.shards().size(), 3U);
    EXPECT_EQ(set.spec().num_chunks(), 8);
    EXPECT_EQ(set.spec().RowsOfChunk(7), 1000 - 7 * 128);
    ExpectRows(set);
  }
}

TEST(ShardSet, CompressionMakesChunksSmaller) {
  const TempFolder plain, compressed;
  MakeShards(plain.path());
  MakeShards(compressed.path(), SmallShards(Compression::kZstd));
  EXPECT_LT(ShardSet(compressed.path()).StoredBytes(0), ShardSet(plain.path()).StoredBytes(0));
}

TEST(ShardSet, SpecIsTheOneThatWasWritten) {
  const TempFolder folder;
  const ShardSetSpec made = MakeShards(folder.path());
  const ShardSetSpec read = ShardSet(folder.path()).spec();
  EXPECT_EQ(read, made);
  EXPECT_EQ(read.domain, "npuzzle:3");
  EXPECT_EQ(read.target, "walk_length");
  EXPECT_EQ(DescribeSchema(read.schema), "input:uint8:9 target:float32:1");
  EXPECT_EQ(read.provenance.at("generate.max_scramble"), "13");
  ShardSetSpec other = made;
  other.provenance["seed"] = "2";
  EXPECT_NE(other.Identity(), made.Identity());
}

TEST(ShardSet, ChunksAreAlignedForMapping) {
  const TempFolder folder;
  MakeShards(folder.path());
  const ShardHeader header = ReadHeader(ShardPath(folder.path(), 0));
  for (const StoredChunk& chunk : header.chunks) EXPECT_EQ(chunk.offset % 64, 0);
}

TEST(ShardSet, AlteredByteNamesItsChunk) {
  const TempFolder folder;
  MakeShards(folder.path());
  const std::filesystem::path path = ShardPath(folder.path(), 1);
  const ShardHeader header = ReadHeader(path);
  const StoredChunk& chunk = header.chunks[2];
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{130}, chunk.bytes - 1}) {
    Alter(path, chunk.offset + at);
    const ShardSet set(folder.path());
    EXPECT_NO_THROW(Chunk(set, 4));
    EXPECT_THAT(
        MessageOf([&] { Chunk(set, 5); }),
        AllOf(HasSubstr("shard-000001.tandem, chunk 2: "), HasSubstr("hash does not match")));
    EXPECT_THAT(set.NameOfChunk(5), testing::EndsWith("shard-000001.tandem, chunk 2"));
    Alter(path, chunk.offset + at);
  }
  EXPECT_NO_THROW(Chunk(ShardSet(folder.path()), 5));
}

TEST(ShardSet, AlteredByteOfACompressedChunkIsDetected) {
  const TempFolder folder;
  MakeShards(folder.path(), SmallShards(Compression::kZstd));
  const StoredChunk chunk = ReadHeader(ShardPath(folder.path(), 0)).chunks[1];
  Alter(ShardPath(folder.path(), 0), chunk.offset + chunk.bytes / 2);
  const ShardSet set(folder.path());
  EXPECT_THAT(MessageOf([&] { Chunk(set, 1); }), HasSubstr("shard-000000.tandem, chunk 1: "));
}

TEST(ShardSet, AlteredByteOfAHeaderIsDetected) {
  const TempFolder folder;
  MakeShards(folder.path());
  const std::filesystem::path path = ShardPath(folder.path(), 1);
  const std::int64_t end = ReadHeader(path).chunks.front().offset;
  for (std::int64_t at = 0; at < end; at += 37) {
    Alter(path, at);
    const ShardSet set(folder.path());
    EXPECT_THAT(set.shards()[1].problem, HasSubstr("shard-000001.tandem: ")) << "byte " << at;
    EXPECT_THROW(set.CheckComplete(), DamagedShard);
    EXPECT_THROW(Chunk(set, 3), DamagedShard);
    Alter(path, at);
  }
  EXPECT_NO_THROW(ShardSet(folder.path()).CheckComplete());
}

TEST(ShardSet, TruncatedFileNamesItsFirstIncompleteChunk) {
  const TempFolder folder;
  MakeShards(folder.path());
  const std::filesystem::path path = ShardPath(folder.path(), 0);
  const StoredChunk second = ReadHeader(path).chunks[1];
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(second.offset + 100));
  const ShardSet set(folder.path());
  EXPECT_NO_THROW(Chunk(set, 0));
  EXPECT_THAT(MessageOf([&] { Chunk(set, 1); }), HasSubstr("chunk 1: the file ends too soon"));
  std::filesystem::resize_file(path, 100);
  EXPECT_THAT(ShardSet(folder.path()).shards()[0].problem, HasSubstr("ends inside the header"));
}

TEST(ShardSet, PipeInPlaceOfAShardIsDamage) {
  const TempFolder folder;
  MakeShards(folder.path());
  const std::filesystem::path path = ShardPath(folder.path(), 1);
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const ShardSet set(folder.path());
  EXPECT_THAT(MessageOf([&] { set.CheckComplete(); }),
              HasSubstr("shard-000001.tandem: it is a pipe or a device"));
}

TEST(ShardSet, MissingShardIsNamed) {
  const TempFolder folder;
  MakeShards(folder.path());
  std::filesystem::remove(ShardPath(folder.path(), 2));
  const ShardSet set(folder.path());
  EXPECT_TRUE(set.shards()[2].missing);
  EXPECT_THAT(MessageOf([&] { set.CheckComplete(); }), HasSubstr("shard-000002.tandem is missing"));
}

TEST(ShardSet, SystemErrorIsNotDamage) {
  const TempFolder folder;
  MakeShards(folder.path());
  const ShardSet set(folder.path());
  const std::filesystem::path path = ShardPath(folder.path(), 0);
  std::filesystem::remove(path);
  EXPECT_THROW(Chunk(set, 0), DamagedShard);
  std::filesystem::create_symlink(path, path);
  EXPECT_THAT([&] { Chunk(set, 0); },
              testing::ThrowsMessage<SystemError>(HasSubstr("cannot read " + path.string())));
  EXPECT_THAT(MessageOf([&] { ShardSet(folder.path()); }),
              HasSubstr("cannot read " + path.string()));
}

TEST(ShardSet, RejectsAFolderWithoutShards) {
  const TempFolder folder;
  EXPECT_THAT(MessageOf([&] { const ShardSet set(folder.path()); }), HasSubstr("holds no shards"));
  EXPECT_THAT(MessageOf([&] { const ShardSet set(folder.path() / "no"); }),
              HasSubstr("cannot read "));
}

TEST(ShardSet, RejectsShardsOfTwoSetsAndNamesBoth) {
  const TempFolder folder, other;
  MakeShards(folder.path());
  Config config = Puzzle8Config();
  config.seed = 9;
  MakeShards(other.path(), SmallShards(), {}, config);
  std::filesystem::copy_file(ShardPath(other.path(), 1), ShardPath(folder.path(), 1),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(MessageOf([&] { const ShardSet set(folder.path()); }),
              AllOf(HasSubstr("shard-000000.tandem"), HasSubstr("shard-000001.tandem"),
                    HasSubstr("seed is 1 there and 9 here")));
}

TEST(ShardSet, ShardWithTheWrongNameIsDamage) {
  const TempFolder folder;
  MakeShards(folder.path());
  std::filesystem::copy_file(ShardPath(folder.path(), 0), ShardPath(folder.path(), 1),
                             std::filesystem::copy_options::overwrite_existing);
  const ShardSet set(folder.path());
  EXPECT_THAT(MessageOf([&] { set.CheckComplete(); }),
              HasSubstr("shard-000001.tandem holds shard 0 of the set"));
  EXPECT_THROW(Chunk(set, 3), DamagedShard);
  EXPECT_NO_THROW(Chunk(set, 2));
}

TEST(ShardSet, FileWithANumberOutsideTheSetIsStray) {
  const TempFolder folder;
  MakeShards(folder.path());
  EXPECT_TRUE(StrayFiles(folder.path(), 3).empty());
  const std::filesystem::path stray = folder.path() / "shard-000099.tandem";
  std::filesystem::copy_file(ShardPath(folder.path(), 0), stray);
  EXPECT_THAT(StrayFiles(folder.path(), 3), testing::ElementsAre(stray));
  EXPECT_NO_THROW(ShardSet(folder.path()).CheckComplete());
  EXPECT_THAT(DescribeStray(stray, 3),
              HasSubstr("shard-000099.tandem is not one of the set's 3 shards (000000 to 000002)"));
}

TEST(ShardSet, RejectsExamplesOfAnotherPuzzleAndNamesBoth) {
  const TempFolder folder;
  MakeShards(folder.path());
  const ShardSet set(folder.path());
  const auto cube = MakeDomain("cube3"), puzzle = MakeDomain("npuzzle:3");
  EXPECT_NO_THROW(set.CheckFits(puzzle->spec(), Head::kV));
  EXPECT_THAT(MessageOf([&] { set.CheckFits(cube->spec(), Head::kV); }),
              AllOf(HasSubstr("npuzzle:3"), HasSubstr("input:uint8:9"), HasSubstr("expected cube3"),
                    HasSubstr("input:uint8:54")));
  EXPECT_THAT(MessageOf([&] { set.CheckFits(puzzle->spec(), Head::kQ); }),
              HasSubstr("target:float32:4"));
}

TEST(ShardSet, LabelsOfAPolicyAndOfAQNetFitOnlyTheirOwnHead) {
  const TempFolder q_folder, policy_folder;
  Config config = Puzzle8Config();
  config.network.head = Head::kQ;
  MakeShards(q_folder.path(), SmallShards(), {}, config);
  config.network.head = Head::kPolicy;
  config.generate.target = Target::kPolicy;
  MakeShards(policy_folder.path(), SmallShards(), {}, config);
  const auto puzzle = MakeDomain("npuzzle:3");
  const ShardSet q(q_folder.path()), policy(policy_folder.path());
  EXPECT_TRUE(HasWeights(q.spec().schema));
  EXPECT_FALSE(HasWeights(policy.spec().schema));
  EXPECT_NO_THROW(q.CheckFits(puzzle->spec(), Head::kQ));
  EXPECT_NO_THROW(policy.CheckFits(puzzle->spec(), Head::kPolicy));
  EXPECT_THAT(MessageOf([&] { policy.CheckFits(puzzle->spec(), Head::kQ); }),
              HasSubstr("set network.head to policy"));
  EXPECT_THAT(MessageOf([&] { q.CheckFits(puzzle->spec(), Head::kPolicy); }),
              HasSubstr("`network.head: policy` cannot learn from examples with generate.target "
                        "walk_length"));
}

TEST(ShardSet, IgnoresOtherFilesInTheFolder) {
  const TempFolder folder;
  MakeShards(folder.path());
  WriteFileAtomically(folder.path() / "shard-000000.tandem.123.partial", "half");
  WriteFileAtomically(folder.path() / "notes", "mine");
  EXPECT_NO_THROW(ShardSet(folder.path()).CheckComplete());
  EXPECT_EQ(ReadShardSetSpec(folder.path()), ShardSet(folder.path()).spec());
}

// ShardWriter does not check how many rows and chunks it gets.
TEST(ShardWriter, ShardWithAMissingOrHalfChunkIsDamage) {
  const TempFolder folder;
  const ShardSetSpec set = MakeShards(folder.path());
  const std::filesystem::path path = ShardPath(folder.path(), 0);
  const DataBuffer rows(set.schema, static_cast<std::size_t>(set.chunk_rows));
  const DataBuffer half(set.schema, static_cast<std::size_t>(set.chunk_rows / 2));
  const auto error_of = [&](const std::vector<const DataBuffer*>& chunks) {
    ShardWriter writer(path, set, /*shard=*/0);
    for (const DataBuffer* chunk : chunks) writer.Add(*chunk);
    writer.Commit();
    return MessageOf([&] { ReadHeader(path); });
  };
  EXPECT_EQ(error_of({&rows, &rows, &rows}), "nothing was thrown");
  EXPECT_THAT(error_of({&rows, &rows}), AllOf(HasSubstr("shard-000000.tandem: "),
                                              HasSubstr("chunk 2 begins at 0, expected")));
  EXPECT_THAT(error_of({&rows, &half, &rows}), HasSubstr("chunk 1 has 832 bytes, expected 1664"));
}

TEST(ShardSet, ShardOfANewerVersionIsRefusedAndNotDamaged) {
  const TempFolder folder;
  MakeShards(folder.path());
  const std::filesystem::path shard = ShardPath(folder.path(), 1);
  constexpr std::int64_t kAt = 13;  // of the number in "tandem shard 2"
  Overwrite(shard, kAt, '3');
  EXPECT_THAT([&] { ShardSet set(folder.path()); },
              testing::ThrowsMessage<InputError>(AllOf(
                  HasSubstr("shard-000001.tandem: its layout has number 3, expected at most 2"),
                  HasSubstr("newer version"))));
  for (const char other : {'1', 'x'}) {
    Overwrite(shard, kAt, other);
    EXPECT_THAT(ShardSet(folder.path()).shards()[1].problem, HasSubstr("does not begin with"));
  }
}

TEST(ShardSet, FirstIntactHeaderDescribesTheSet) {
  const TempFolder folder;
  const ShardSetSpec made = MakeShards(folder.path());
  Alter(ShardPath(folder.path(), 0), 100);
  EXPECT_EQ(ReadShardSetSpec(folder.path()), made);
  EXPECT_EQ(ShardSet(folder.path()).StoredBytes(0), 0);
  EXPECT_GT(ShardSet(folder.path()).StoredBytes(3), 0);
}

}  // namespace
}  // namespace tandem
