// Tests of the hash and the compression of chunks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "data/shard_format.h"
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

}  // namespace
}  // namespace tandem
