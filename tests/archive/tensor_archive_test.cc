// Files of tensors in memory: zip archives, and their hash.
#include "archive/tensor_archive.h"

#include <gtest/gtest.h>

#include "support/pickles.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using namespace pickles;

std::string ErrorOf(std::string_view file) {
  try {
    ReadTensorArchive(Aligned(file).bytes());
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string SmallPickle() {
  return Pickle(
      Dict({{"n", Number(7)}, {"w", Tensor(Storage("FloatStorage", "0", 3), 0, {3}, {1})}}));
}

std::vector<Record> SmallRecords() {
  return {{.name = "net/data.pkl", .content = SmallPickle()},
          {.name = "net/byteorder", .content = "little"},
          {.name = "net/data/0", .content = std::string(12, '\1')}};
}

std::string Hashed(const std::string& archive, std::size_t piece) {
  std::string file;
  HashedArchive hashed([&](std::string_view bytes) { file += bytes; });
  for (std::size_t i = 0; i < archive.size(); i += piece) hashed.Add(archive.substr(i, piece));
  hashed.Finish();
  return file;
}

TEST(TensorArchive, ReadsTheTensorsFromTheirRecords) {
  const Aligned file(Zip(SmallRecords()));
  const StoredDict dict = ReadTensorArchive(file.bytes());
  ASSERT_EQ(dict.entries.size(), 2U);
  const auto& tensor = std::get<StoredTensor>(dict.entries[1].value);
  ASSERT_EQ(tensor.bytes.size(), 12U);
  EXPECT_EQ(tensor.bytes[11], std::byte{1});
}

TEST(TensorArchive, HashDetectsEveryChangedByte) {
  const std::string file = Hashed(Zip(SmallRecords()), 1000);
  for (const std::size_t piece : {1, 7, 22, 23})
    EXPECT_EQ(Hashed(Zip(SmallRecords()), piece), file);
  EXPECT_EQ(ErrorOf(file), "nothing was thrown");
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_NE(ErrorOf(changed), "nothing was thrown") << i;
  }
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(ErrorOf(file.substr(0, size)), "nothing was thrown") << size;
  }
}

TEST(TensorArchive, LimitsHowManyTensorsShareAStorage) {
  const auto error_of = [](int tensors) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (int i = 0; i < tensors; ++i) {
      entries.emplace_back(std::to_string(i),
                           Tensor(Storage("FloatStorage", "0", 3000), 0, {3000}, {1}));
    }
    return ErrorOf(Zip({{.name = "net/data.pkl", .content = Pickle(Dict(entries))},
                        {.name = "net/data/0", .content = std::string(12'000, '\0')}}));
  };
  EXPECT_EQ(error_of(3), "nothing was thrown");
  EXPECT_NE(error_of(30).find("more elements than the file has room for"), std::string::npos);
}

TEST(TensorArchive, RejectsRecordsBeyondTheFileEvenIfTheHashMatches) {
  std::vector<Record> records = SmallRecords();
  records[2].claimed_bytes = 1 << 30;
  EXPECT_NE(ErrorOf(Hashed(Zip(records), 100)).find("beyond the end of the file"),
            std::string::npos);
  records[2].claimed_bytes = 8;
  EXPECT_NE(ErrorOf(Hashed(Zip(records), 100)).find("3 elements of 4 bytes, but its record has 8"),
            std::string::npos);
  records[2].content = "";
  records[2].claimed_bytes = 0;
  EXPECT_NE(ErrorOf(Hashed(Zip(records), 100)).find("record has 0 bytes"), std::string::npos);
}

TEST(TensorArchive, RejectsOtherKindsOfArchives) {
  std::vector<Record> records = SmallRecords();
  records[0].method = 8;
  EXPECT_NE(ErrorOf(Zip(records)).find("a record is compressed"), std::string::npos);
  records = SmallRecords();
  records[1].content = "big";
  EXPECT_NE(ErrorOf(Zip(records)).find("not little-endian"), std::string::npos);
  records = SmallRecords();
  records.push_back(records[2]);
  EXPECT_NE(ErrorOf(Zip(records)).find("two records of the zip archive have the same name"),
            std::string::npos);
  records = SmallRecords();
  records[0].name = "net/other.pkl";
  EXPECT_NE(ErrorOf(Zip(records)).find("0 records named data.pkl"), std::string::npos);
  EXPECT_NE(ErrorOf(Zip(SmallRecords(), "hello")).find("an unknown comment"), std::string::npos);
  EXPECT_NE(ErrorOf("PK\3\4").find("no end record"), std::string::npos);
}

}  // namespace
}  // namespace tandem
