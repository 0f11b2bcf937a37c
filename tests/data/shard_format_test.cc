// Tests of the format of shards: the hash and the compression of chunks, and headers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "data/shard_file.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::HasSubstr;

constexpr std::size_t kBytes = 5 * kHashedBytes + 1000;  // six parts, the last of them shorter

std::vector<std::byte> Numbers(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761U >> 24);
  return bytes;
}

// Later versions must be able to read existing sets.
TEST(ChunkHash, NeverChanges) {
  EXPECT_EQ(ChunkHash(Numbers(1000)), "024fa0fe75814b266f56b098ec0bf5fe");
  EXPECT_EQ(ChunkHash(Numbers(kBytes)), "6fbc35bf671bf90c25cd64309369ce26");
}

TEST(ChunkHash, DependsOnEveryPart) {
  const std::vector<std::byte> bytes = Numbers(kBytes);
  std::set<std::string> hashes = {ChunkHash(bytes)};
  for (std::size_t at = kHashedBytes - 1; at < kBytes; at += kHashedBytes) {
    std::vector<std::byte> altered = bytes;
    altered[at] ^= std::byte{1};
    EXPECT_TRUE(hashes.insert(ChunkHash(altered)).second) << at;
  }
  std::vector<std::byte> exchanged = bytes;
  const auto part = static_cast<std::ptrdiff_t>(kHashedBytes);
  std::swap_ranges(exchanged.begin(), exchanged.begin() + part, exchanged.begin() + part);
  EXPECT_TRUE(hashes.insert(ChunkHash(exchanged)).second);
}

TEST(ChunkHash, ReadingInPartsGivesTheSameHash) {
  const std::vector<std::byte> bytes = Numbers(kBytes);
  std::vector<std::byte> read(kBytes);
  std::multiset<std::size_t> places;
  std::mutex mutex;
  const std::string hash = ChunkHash(read, [&](std::size_t at, std::span<std::byte> part) {
    std::memcpy(part.data(), bytes.data() + at, part.size());
    const std::lock_guard lock(mutex);
    places.insert(at);
  });
  EXPECT_EQ(hash, ChunkHash(bytes));
  EXPECT_EQ(read, bytes);
  const auto place = [](std::size_t part) { return part * kHashedBytes; };
  EXPECT_EQ(places, (std::multiset{place(0), place(1), place(2), place(3), place(4), place(5)}));
}

std::string ErrorOfDecompressing(std::string_view frame, std::size_t bytes) {
  std::vector<std::byte> to(bytes);
  try {
    Decompress(frame, to);
    return "nothing was thrown";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ChunkCodec, DecompressRestoresTheBytes) {
  const std::vector<std::byte> bytes = Numbers(1000);
  std::vector<std::byte> again(1000);
  Decompress(Compress(bytes), again);
  EXPECT_EQ(again, bytes);
}

TEST(ChunkCodec, RejectsWrongSizesAndInvalidFrames) {
  const std::string frame = Compress(Numbers(1000));
  EXPECT_EQ(ErrorOfDecompressing(frame, 1000), "nothing was thrown");
  EXPECT_EQ(ErrorOfDecompressing(frame, 1001), "it decompresses to 1000 bytes, expected 1001");
  EXPECT_THAT(ErrorOfDecompressing(frame, 999), HasSubstr("it cannot be decompressed: "));
  EXPECT_THAT(ErrorOfDecompressing("no frame", 1000), HasSubstr("it cannot be decompressed: "));
}

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kChunkBytes = 128 * (9 + 4);  // both columns are multiples of 64 bytes
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

// The header of shard 1 of 3, which has chunks 3 to 5, in a set of 1,000 rows.
ShardHeader Header(Compression compression = Compression::kNone) {
  ShardHeader header{
      .set = {.domain = "npuzzle:3",
              .target = "walk_length",
              .schema = {{{.name = "input", .type = ElementType::kUint8, .width = 9},
                          {.name = "target", .type = ElementType::kFloat32, .width = 1}}},
              .provenance = {{"seed", "1"}},
              .examples = 1000,
              .chunk_rows = 128,
              .chunks_per_shard = 3,
              .compression = compression},
      .shard = 1};
  for (std::int64_t i = 0; i < 3; ++i) {
    header.chunks.push_back({.offset = kPage + i * kChunkBytes,
                             .bytes = kChunkBytes,
                             .hash = std::string(kHashDigits, 'a')});
  }
  return header;
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseHeader(text);
    return "nothing was thrown";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string ErrorWith(const std::function<void(ShardHeader&)>& change,
                      Compression compression = Compression::kNone) {
  ShardHeader header = Header(compression);
  change(header);
  return ErrorOf(FormatHeader(header));
}

// The error for a header in which `here` is replaced by `there`, with a matching hash.
std::string ErrorWithText(const std::string& here, const std::string& there) {
  std::string text = FormatHeader(Header());
  const std::size_t at = text.find(here);
  if (at == std::string::npos) return fmt::format("there is no {}", here);
  text.replace(at, here.size(), there);
  text.resize(text.rfind('}') + 1);
  const auto used = static_cast<std::int64_t>(text.size() + kHashDigits + 2);
  const std::int64_t bytes = (used + kPage - 1) / kPage * kPage;
  constexpr std::string_view kDigits = "0000004096";
  text.replace(text.find(kDigits), kDigits.size(), fmt::format("{:010}", bytes));
  text.resize(static_cast<std::size_t>(bytes) - kHashDigits - 2, ' ');
  text += '\n';
  Hash hash;
  hash.Add(text);
  return ErrorOf(text + hash.Hex() + '\n');
}

TEST(ShardHeader, ParseReturnsWhatFormatWrote) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    const ShardHeader written = Header(compression);
    const ShardHeader read = ParseHeader(FormatHeader(written));
    EXPECT_EQ(read.set, written.set);
    EXPECT_EQ(read.shard, 1);
    EXPECT_EQ(read.chunks, written.chunks);
    EXPECT_EQ(read.file_bytes(), kPage + 3 * kChunkBytes);
  }
  EXPECT_EQ(ErrorWithText("walk_length", "walk_lengths"), "nothing was thrown");
}

TEST(ShardHeader, RejectsInvalidSizes) {
  for (const std::int64_t examples : {std::int64_t{0}, std::int64_t{-1}, kMost}) {
    EXPECT_THAT(ErrorWith([&](ShardHeader& h) { h.set.examples = examples; }),
                HasSubstr(fmt::format("`examples: {}`, expected 1 to", examples)));
  }
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{-128}, kMost}) {
    EXPECT_THAT(ErrorWith([&](ShardHeader& h) { h.set.chunk_rows = rows; }),
                HasSubstr(fmt::format("`chunk_rows: {}`, expected 1 to 2147483647", rows)));
  }
  for (const std::int64_t chunks : {std::int64_t{0}, std::int64_t{-3}, kMost}) {
    EXPECT_THAT(ErrorWith([&](ShardHeader& h) { h.set.chunks_per_shard = chunks; }),
                HasSubstr(fmt::format("`chunks_per_shard: {}`, expected 1 to", chunks)));
  }
  for (const std::size_t width : {std::size_t{0}, std::numeric_limits<std::size_t>::max()}) {
    EXPECT_THAT(ErrorWith([&](ShardHeader& h) { h.set.schema.columns[0].width = width; }),
                HasSubstr(fmt::format("`width: {}`, expected 1 to", width)));
  }
}

TEST(ShardHeader, RejectsSizesWhoseProductsOverflow) {
  const auto wide = [](ShardHeader& header) {
    header.set.schema.columns[1].width = std::size_t{1} << 30;
    header.set.chunk_rows = 1 << 30;
    header.set.chunks_per_shard = 16;
  };
  EXPECT_THAT(ErrorWith(wide), testing::ContainsRegex(
                                   "a set with shards of .* TiB, expected at most 4194304.0 TiB"));
  const auto many = [](ShardHeader& header) {
    header.set.chunk_rows = 1;
    header.set.examples = 3'000'001;
  };
  EXPECT_THAT(ErrorWith(many), HasSubstr("1,000,001 shards, expected at most 1,000,000"));
  EXPECT_THAT(ErrorWith([](ShardHeader& header) { header.set.schema = {}; }),
              HasSubstr("no columns"));
}

// Readers keep tables of all chunks of a set, also if a header of a few bytes claims many.
TEST(ShardHeader, RejectsMoreChunksThanTablesMayHold) {
  const auto error_of = [](std::int64_t chunks) {
    return ErrorWith([&](ShardHeader& header) {
      header.set.examples = chunks;
      header.set.chunk_rows = 1;
      header.set.chunks_per_shard = std::int64_t{1} << 20;
    });
  };
  EXPECT_THAT(error_of(kMaxChunks + 1),
              HasSubstr("16,777,217 chunks, expected at most 16,777,216"));
  EXPECT_THAT(error_of(kMaxChunks), HasSubstr("with 3 chunks, expected 1048576"));
}

// A chunk is read into memory as a whole, also from a header of a few bytes that claims a large
// one.
TEST(ShardHeader, RejectsChunksThatAreLargerThanFourGiB) {
  const auto large = [](ShardHeader& header) {
    header.set.examples = std::int64_t{1} << 30;
    header.set.chunk_rows = 1 << 29;  // of 13 bytes
    header.set.chunks_per_shard = 1;
  };
  EXPECT_THAT(ErrorWith(large, Compression::kZstd),
              HasSubstr("chunks of 6.5 GiB, expected at most 4.0 GiB"));
}

TEST(ShardHeader, RejectsValuesOfTheWrongKind) {
  for (const std::string value :
       {"1e+99", "1000.5", "true", "\"1000\"", "null", "[1000]", "18446744073709551615"}) {
    EXPECT_THAT(ErrorWithText("\"examples\":1000", "\"examples\":" + value),
                HasSubstr(fmt::format("`examples: {}`, expected", value)));
  }
  EXPECT_THAT(ErrorWithText("\"shard\":1", "\"shard\":1e99"), HasSubstr("`shard: 1e+99`"));
  EXPECT_THAT(ErrorWithText("\"compression\":\"none\"", "\"compression\":\"lz4\""),
              HasSubstr("`compression: lz4`, expected none or zstd"));
  EXPECT_THAT(ErrorWithText("\"type\":\"uint8\"", "\"type\":\"int64\""),
              HasSubstr("a column of type int64, expected uint8 or float32"));
  EXPECT_THAT(ErrorWithText("\"columns\":[", "\"column\":["), HasSubstr("the header is not valid"));
}

TEST(ShardHeader, RejectsDeepNestingDespiteACorrectHash) {
  for (const std::string& brackets :
       {std::string(200'000, '['), std::string(200'000, '[') + std::string(200'000, ']')}) {
    EXPECT_THAT(ErrorWithText("\"examples\":1000", "\"examples\":" + brackets),
                HasSubstr("nest too deeply"));
  }
}

TEST(ShardHeader, ReplacesBytesThatAreNotUtf8) {
  ShardHeader header = Header();
  header.set.domain = "permutation:\xff.yaml@rules";
  EXPECT_EQ(ParseHeader(FormatHeader(header)).set.domain, "permutation:\xEF\xBF\xBD.yaml@rules");
}

TEST(ShardHeader, RejectsShardNumbersOutsideTheSet) {
  for (const std::int64_t shard : {std::int64_t{-1}, std::int64_t{3}, kMost}) {
    EXPECT_THAT(ErrorWith([&](ShardHeader& h) { h.shard = shard; }),
                HasSubstr(fmt::format("`shard: {}`, expected 0 to 2", shard)));
  }
  EXPECT_THAT(ErrorWith([](ShardHeader& h) { h.shard = 2; }),
              HasSubstr("shard 2 with 3 chunks, expected 2"));
}

TEST(ShardHeader, RejectsGapsAndOverlapsBetweenChunks) {
  for (const std::int64_t offset :
       {std::int64_t{0}, std::int64_t{-64}, kPage - 64, kPage + 64, kMost}) {
    EXPECT_THAT(ErrorWith([&](ShardHeader& h) { h.chunks[0].offset = offset; }),
                HasSubstr(fmt::format("chunk 0 begins at {}, expected 4096", offset)));
  }
  EXPECT_THAT(ErrorWith([](ShardHeader& h) { std::swap(h.chunks[1], h.chunks[2]); }),
              HasSubstr("chunk 1 begins at"));
}

TEST(ShardHeader, RejectsChunkSizesThatDoNotFitTheirRows) {
  const auto with = [](std::int64_t bytes) {
    return [bytes](ShardHeader& header) { header.chunks[2].bytes = bytes; };
  };
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-1}, kChunkBytes + 1, kMost}) {
    EXPECT_THAT(ErrorWith(with(bytes)),
                HasSubstr(fmt::format("chunk 2 has {} bytes, expected {}", bytes, kChunkBytes)));
  }
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-1}, 2 * kChunkBytes, kMost}) {
    EXPECT_THAT(ErrorWith(with(bytes), Compression::kZstd),
                HasSubstr(fmt::format("chunk 2 has {} bytes, expected 1 to", bytes)));
  }
  EXPECT_EQ(ErrorWith(with(17), Compression::kZstd), "nothing was thrown");
  // Incompressible data grows a little.
  EXPECT_EQ(ErrorWith(with(kChunkBytes + 1), Compression::kZstd), "nothing was thrown");
}

TEST(ShardHeader, RejectsHeadersOfTheWrongSize) {
  const std::string text = FormatHeader(Header());
  EXPECT_THAT(ErrorOf(text.substr(0, text.size() - 1)), HasSubstr("4095 bytes, expected 4096"));
  EXPECT_THAT(ErrorOf(text + " "), HasSubstr("4097 bytes, expected 4096"));
}

TEST(ShardHeader, DescribesDifferencesWithBothValues) {
  const auto difference = [](const std::function<void(ShardSetSpec&)>& change) {
    const ShardSetSpec there = Header().set;
    ShardSetSpec here = there;
    change(here);
    return DescribeDifference(there, here);
  };
  EXPECT_EQ(difference([](auto& set) { set.domain = std::string("cube3"); }),
            "made for npuzzle:3, expected cube3");
  EXPECT_EQ(difference([](auto& set) { set.target = std::string("value_iteration"); }),
            "the target is walk_length there and value_iteration here");
  EXPECT_EQ(difference([](auto& set) { set.schema.columns.pop_back(); }),
            "the schema is input:uint8:9 target:float32:1 there and input:uint8:9 here");
  EXPECT_EQ(difference([](auto& set) { set.provenance["seed"] = std::string("2"); }),
            "seed is 1 there and 2 here");
  EXPECT_EQ(difference([](auto& set) { set.provenance["new"] = std::string("2"); }),
            "new is not set there and 2 here");
  EXPECT_EQ(difference([](auto& set) { set.provenance.clear(); }),
            "seed is 1 there and not set here");
  EXPECT_EQ(difference([](auto& set) { set.examples = 999; }),
            "the number of examples is 1000 there and 999 here");
  EXPECT_EQ(difference([](auto& set) { set.chunk_rows = 64; }),
            "the number of rows per chunk is 128 there and 64 here");
  EXPECT_EQ(difference([](auto& set) { set.chunks_per_shard = 4; }),
            "the number of chunks per shard is 3 there and 4 here");
  EXPECT_EQ(difference([](auto& set) { set.compression = Compression::kZstd; }),
            "the compression is none there and zstd here");
}

}  // namespace
}  // namespace tandem
