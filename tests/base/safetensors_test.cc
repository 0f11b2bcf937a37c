// Safetensors files in memory.
#include "base/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/error.h"

namespace tandem {
namespace {

// Memory that is aligned as a file's is.
struct Aligned {
  explicit Aligned(std::string_view content) : words(content.size() / 8 + 1), size(content.size()) {
    std::memcpy(words.data(), content.data(), size);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words)).first(size); }

  std::vector<std::uint64_t> words;
  std::size_t size;
};

std::string Bytes(std::uint64_t number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

// A file with this header, padded as the format's own library pads it.
std::string File(std::string header, std::size_t data_bytes) {
  while (header.size() % 8 != 0) header += ' ';
  return Bytes(header.size()) + header + std::string(data_bytes, '\1');
}

std::string Tensor(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return R"({"dtype":")" + std::string(dtype) + R"(","shape":)" + std::string(shape) +
         R"(,"data_offsets":)" + std::string(offsets) + "}";
}

std::string ErrorOf(const std::string& file) {
  const Aligned aligned(file);
  try {
    ReadSafetensors(aligned.bytes());
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

void ExpectError(const std::string& header, std::size_t data_bytes, const std::string& part) {
  const std::string error = ErrorOf(File(header, data_bytes));
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  const Aligned file(File(R"({"__metadata__":{"format":"pt"},"b":)" +
                              Tensor("I64", "[1]", "[24,32]") + R"(,"a":)" +
                              Tensor("F32", "[2,3]", "[0,24]") + "}",
                          32));
  const Safetensors read = ReadSafetensors(file.bytes());
  EXPECT_EQ(read.metadata.at("format"), "pt");
  ASSERT_EQ(read.tensors.size(), 2U);
  EXPECT_EQ(read.tensors[0].name, "a");
  const StoredTensor& a = read.tensors[0];
  EXPECT_EQ(a.sizes, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(a.bytes.size(), 24U);
  const StoredTensor& b = read.tensors[1];
  EXPECT_EQ(b.type, StoredType::kInt64);
  EXPECT_EQ(b.bytes.data(), a.bytes.data() + 24);
}

TEST(Safetensors, WrittenHeaderIsReadBack) {
  const std::vector<TensorEntry> entries = {
      {.name = "count", .type = StoredType::kInt64, .sizes = {}},
      {.name = "w", .sizes = {3, 2}},
      {.name = "none", .sizes = {0, 5}},
      {.name = "b", .sizes = {3}}};
  const Aligned file(SafetensorsHeader(entries, {{"domain", "cube3"}}) +
                     std::string(8 + 24 + 12, '\2'));
  const Safetensors read = ReadSafetensors(file.bytes());
  EXPECT_EQ(read.metadata, (std::map<std::string, std::string>{{"domain", "cube3"}}));
  ASSERT_EQ(read.tensors.size(), entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(read.tensors[i].name, entries[i].name);
    EXPECT_EQ(read.tensors[i].type, entries[i].type);
    EXPECT_EQ(read.tensors[i].sizes, entries[i].sizes);
  }
}

TEST(Safetensors, HeaderWithUnalignedTensorIsABug) {
  EXPECT_THROW(SafetensorsHeader({{.name = "b", .type = StoredType::kUint8, .sizes = {1}},
                                  {.name = "w", .sizes = {1}}},
                                 {}),
               Error);
}

TEST(Safetensors, AnyDamagedBitOfAFileWithAHashIsDetected) {
  const auto start = [](const std::string& hash) {
    return SafetensorsHeader({{.name = "w", .sizes = {3}}},
                             {{std::string(kFileHash), hash}, {"domain", "cube3"}});
  };
  const std::string data(12, '\2');
  const std::string file = start(HashOf(data + start(kNoFileHash))) + data;
  ASSERT_EQ(ErrorOf(file), "nothing was thrown");
  for (std::size_t i = 0; i < file.size() * 8; ++i) {
    std::string damaged = file;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    // The name of the hash is the only part that a reader need not know.
    const std::size_t name = file.find(kFileHash);
    if (i / 8 >= name && i / 8 < name + kFileHash.size()) continue;
    EXPECT_NE(ErrorOf(damaged), "nothing was thrown") << i;
  }
}

TEST(Safetensors, TruncatedFilesAreRejected) {
  const std::string file = File(R"({"w":)" + Tensor("F32", "[2]", "[0,8]") + "}", 8);
  ASSERT_EQ(ErrorOf(file), "nothing was thrown");
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(ErrorOf(file.substr(0, size)), "nothing was thrown") << size;
  }
  EXPECT_NE(ErrorOf(file + '\0'), "nothing was thrown");
}

TEST(Safetensors, HeaderLargerThanTheLimitIsRejected) {
  const std::string huge = Bytes(~std::uint64_t{0});
  EXPECT_EQ(ErrorOf(huge), "its header has 18446744073709551615 bytes, expected at most 16777216");
}

TEST(Safetensors, OverlapsAndGapsAreRejected) {
  const std::string first = R"({"a":)" + Tensor("F32", "[2]", "[0,8]") + R"(,"b":)";
  ExpectError(first + Tensor("F32", "[1]", "[4,8]") + "}", 8, "overlap");
  ExpectError(first + Tensor("F32", "[1]", "[12,16]") + "}", 16, "gap");
  ExpectError(first + Tensor("F32", "[1]", "[8,12]") + "}", 16, "belong to no tensor");
  ExpectError(first + Tensor("F32", "[1]", "[8,12]") + "}", 8, "beyond the end");
}

TEST(Safetensors, ShapesThatContradictTheBytesAreRejected) {
  const auto expect = [](std::string_view dtype, std::string_view shape, std::string_view offsets,
                         const std::string& part) {
    ExpectError(R"({"w":)" + Tensor(dtype, shape, offsets) + "}", 8, part);
  };
  expect("F32", "[3]", "[0,8]", "more elements than the file has room for");
  expect("F32", "[1]", "[0,8]", "contradict");
  expect("F32", "[0,4611686018427387904]", "[0,8]", "more elements");
  expect("F32", "[4294967296,4294967296,4294967296]", "[0,8]", "more elements");
  expect("F32", "[18446744073709551615]", "[0,8]", "too large");
  expect("F32", "[-2]", "[0,8]", "whole numbers");
  expect("F32", "[2.0]", "[0,8]", "whole numbers");
  expect("F32", "2", "[0,8]", "not a list");
  expect("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]", "9 dimensions");
  expect("F32", "[2]", "[8,0]", "overlap");
  expect("F32", "[2]", "[0,8,8]", "2 numbers");
  expect("F8_E4M3", "[8]", "[0,8]", "dtype");
  ExpectError(
      R"({"b":)" + Tensor("U8", "[4]", "[0,4]") + R"(,"w":)" + Tensor("F64", "[1]", "[4,12]") + "}",
      12, "not aligned");
}

TEST(Safetensors, HeadersThatAreNotObjectsOfTensorsAreRejected) {
  ExpectError("[]", 0, "not a JSON object");
  ExpectError("{", 0, "not valid JSON");
  ExpectError(R"({"w":3})", 0, "not an object");
  ExpectError(R"({"__metadata__":{"format":1}})", 0, "__metadata__");
  ExpectError(R"({"w":)" + std::string(100, '[') + std::string(100, ']') + "}", 0, "deeply");
  ExpectError(R"({"w":{"dtype":"F32","shape":[]}})", 0, "data_offsets is missing");
}

}  // namespace
}  // namespace tandem
