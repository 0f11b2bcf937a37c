// Pickles of tensors, also those that someone has made to do harm.
#include "archive/pickle.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "support/pickles.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using namespace pickles;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

class Pickles : public testing::Test {
 protected:
  StoredDict Read(const std::string& value, PickleLimits limits = {.tensor_bytes = 1000}) const {
    return ReadPickle(
        Pickle(value),
        [&](std::string_view key) -> std::optional<std::span<const std::byte>> {
          if (key == "0") return std::as_bytes(std::span(numbers_));
          if (key == "empty") return std::span<const std::byte>();
          return std::nullopt;
        },
        limits);
  }

  std::string ErrorOf(const std::string& value,
                      PickleLimits limits = {.tensor_bytes = 1000}) const {
    try {
      Read(value, limits);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  std::string ErrorOfTensor(std::int64_t offset, const std::vector<std::int64_t>& sizes,
                            const std::vector<std::int64_t>& strides) const {
    return ErrorOf(Dict({{"w", Tensor(Storage("FloatStorage", "0", 6), offset, sizes, strides)}}));
  }

  alignas(64) const std::array<float, 6> numbers_ = {0, 1, 2, 3, 4, 5};
};

TEST_F(Pickles, ReadBackWhatWasWritten) {
  const StoredDict dict =
      Read(Dict({{"schema", Number(-3)},
                 {"domain", Text("cube3")},
                 {"none", "N"},
                 {"flag", "\x88"},
                 {"w", Tensor(Storage("FloatStorage", "0", 6), 1, {2, 2}, {1, 2})},
                 {"nothing", Tensor(Storage("FloatStorage", "empty", 0), 0, {0}, {1})},
                 {"inner", Dict({{"loss", "G" + std::string("\x3f\xf8\0\0\0\0\0\0", 8)}})}}));
  ASSERT_EQ(dict.entries.size(), 7U);
  EXPECT_EQ(dict.entries[0].name, "schema");
  EXPECT_EQ(std::get<std::int64_t>(dict.entries[0].value), -3);
  EXPECT_EQ(std::get<std::string>(dict.entries[1].value), "cube3");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(dict.entries[2].value));
  EXPECT_TRUE(std::get<bool>(dict.entries[3].value));
  const auto& tensor = std::get<StoredTensor>(dict.entries[4].value);
  EXPECT_EQ(tensor.type, StoredType::kFloat32);
  EXPECT_EQ(tensor.sizes, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(tensor.strides, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(tensor.bytes.data(), std::as_bytes(std::span(numbers_)).data() + 4);
  EXPECT_EQ(tensor.bytes.size(), 16U);
  EXPECT_TRUE(std::get<StoredTensor>(dict.entries[5].value).bytes.empty());
  EXPECT_EQ(std::get<double>(std::get<StoredDict>(dict.entries[6].value).entries[0].value), 1.5);
}

TEST_F(Pickles, RejectTensorsBeyondTheirStorage) {
  const std::string beyond = "a tensor extends beyond the 6 elements of its storage";
  EXPECT_EQ(ErrorOfTensor(0, {6}, {1}), "nothing was thrown");
  EXPECT_EQ(ErrorOfTensor(0, {2, 3}, {3, 1}), "nothing was thrown");
  EXPECT_NE(ErrorOfTensor(0, {7}, {1}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOfTensor(1, {6}, {1}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOfTensor(6, {1}, {1}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOfTensor(std::int64_t{1} << 30, {1}, {1}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOfTensor(std::int64_t{1} << 61, {1}, {1}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOfTensor(kHuge, {1}, {1}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, {2}, {std::int64_t{1} << 30}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, {3}, {kHuge}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, {2, 2}, {5, 5}).find(beyond), std::string::npos);
  EXPECT_NE(ErrorOf(Dict({{"w", Tensor(Storage("FloatStorage", "empty", 0), 0, {}, {})}}))
                .find("beyond the 0 elements"),
            std::string::npos);
}

TEST_F(Pickles, RejectNegativeAndMissingSizes) {
  EXPECT_NE(ErrorOfTensor(-1, {1}, {1}).find("no offset"), std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, {-1}, {1}).find("the sizes are not numbers of 0 or more"),
            std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, {1}, {-1}).find("the strides are not numbers of 0 or more"),
            std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, {1, 1}, {1}).find("one stride for each size"), std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, std::vector<std::int64_t>(9, 1), std::vector<std::int64_t>(9, 1))
                .find("at most 8 numbers"),
            std::string::npos);
}

TEST_F(Pickles, RejectMoreElementsThanTheFileCanHold) {
  const std::string total = "more elements than the file has room for";
  // A stride of 0 repeats one element.
  EXPECT_NE(ErrorOfTensor(0, {1 << 20, 1 << 20}, {0, 0}).find(total), std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, {kHuge, kHuge, kHuge}, {0, 0, 0}).find(total), std::string::npos);
  EXPECT_NE(ErrorOfTensor(0, {0, kHuge, kHuge}, {1, 1, 1}).find(total), std::string::npos);
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 42; ++i) {  // 42 x 24 bytes
    many.emplace_back(std::to_string(i), Tensor(Storage("FloatStorage", "0", 6), 0, {6}, {1}));
  }
  EXPECT_NE(ErrorOf(Dict(many)).find(total), std::string::npos);
}

TEST_F(Pickles, RejectStoragesWhoseSizeDiffersFromTheirRecord) {
  const auto error_of = [&](const char* type, const char* key, std::int64_t elements) {
    return ErrorOf(Dict({{"w", Tensor(Storage(type, key, elements), 0, {1}, {1})}}));
  };
  EXPECT_NE(error_of("FloatStorage", "0", 7)
                .find("should have 7 elements of 4 bytes, but its "
                      "record has 24 bytes"),
            std::string::npos);
  EXPECT_NE(error_of("DoubleStorage", "0", 6).find("record has 24 bytes"), std::string::npos);
  EXPECT_NE(error_of("FloatStorage", "0", -1).find("record has 24 bytes"), std::string::npos);
  EXPECT_NE(error_of("FloatStorage", "empty", 6).find("record has 0 bytes"), std::string::npos);
  EXPECT_NE(error_of("FloatStorage", "7", 6).find("no record of storage 7"), std::string::npos);
  EXPECT_NE(error_of("BoolStorage", "0", 24).find("it names torch.BoolStorage"), std::string::npos);
}

TEST_F(Pickles, RejectNamesOfCode) {
  EXPECT_NE(ErrorOf(Dict({{"a", Global("os", "system") + Tuple({Text("ls")}) + "R"}}))
                .find("it names os.system, which no tensor file needs"),
            std::string::npos);
  EXPECT_NE(ErrorOf(Dict({{"a", "]"}})).find("opcode 0x5d"), std::string::npos);
}

TEST_F(Pickles, RejectMillionsOfNestedValues) {
  std::string tuples = ")";
  for (int i = 0; i < 3'000'000; ++i) tuples += '\x85';
  EXPECT_NE(ErrorOf(tuples).find("nest deeper than 16 levels"), std::string::npos);
  std::string dicts;
  for (int i = 0; i < 300'000; ++i) dicts += "}" + Text("a");
  dicts += "N" + std::string(300'000, 's');
  EXPECT_NE(ErrorOf(dicts).find("nest deeper than 16 levels"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(3'000'000, '(')).find("more than 1000000 values"),
            std::string::npos);
  EXPECT_NE(ErrorOf(std::string(3'000'000, '}')).find("more than 1000000 values"),
            std::string::npos);
}

TEST_F(Pickles, RejectOneDictionaryInTwoPlaces) {
  const std::string shared = Dict({{"a", "N"}}) + "q" + '\x01';
  EXPECT_NE(ErrorOf(Dict({{"one", shared}, {"two", std::string("h\x01")}}))
                .find("a dictionary occurs in two places"),
            std::string::npos);
  EXPECT_NE(ErrorOf(Dict({{"a", "N"}, {"a", "N"}})).find("'a' occurs twice in a dictionary"),
            std::string::npos);
}

// PyTorch saves the state_dict of a module with an attribute, the versions of its parts.
TEST_F(Pickles, LeaveOutTheAttributesOfADictionary) {
  const std::string metadata =
      Dict({{"_metadata", Dict({{"layer", Dict({{"version", "K\x01"}})}})}});
  const StoredDict dict = Read(Dict({{"flag", "\x88"}}) + metadata + "b");
  ASSERT_EQ(dict.entries.size(), 1U);
  EXPECT_EQ(dict.entries[0].name, "flag");
}

TEST_F(Pickles, CountRepeatedTextsEachTime) {
  std::string value = Text(std::string(1000, 'x')) + "q" + '\x01';
  for (int i = 0; i < 100; ++i) value += std::string("h\x01");
  PickleLimits limits{.tensor_bytes = 1000};
  limits.text_bytes = 50'000;
  EXPECT_NE(ErrorOf(value, limits).find("more than 50000 bytes of text"), std::string::npos);
  limits.bytes = 1000;
  EXPECT_NE(ErrorOf(value, limits).find("expected at most 1000"), std::string::npos);
}

TEST_F(Pickles, RejectEveryPrefixOfAPickle) {
  const std::string whole =
      Pickle(Dict({{"w", Tensor(Storage("FloatStorage", "0", 6), 1, {2, 2}, {1, 2})}}));
  const auto read = [&](std::size_t size) {
    return ReadPickle(whole.substr(0, size),
                      [&](std::string_view) { return std::as_bytes(std::span(numbers_)); },
                      {.tensor_bytes = 1000});
  };
  ASSERT_EQ(read(whole.size()).entries.size(), 1U);
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_THROW(read(size), Error) << size;
}

TEST_F(Pickles, RejectStacksThatDoNotFitTheOpcodes) {
  for (const char* value :
       {"",     "t",  "u",  "R",      "Q",      "q\x01", "h\x01", "}s",  "}(Nu", "(}u", "NNs",
        "}NNs", "}(", "}}", "NN\x86", "}X\x01", "b",     "}b",    "}Nb", "N}b",  "(}b"}) {
    EXPECT_NE(ErrorOf(value), "nothing was thrown") << value;
  }
  EXPECT_NE(ErrorOf("N").find("its value is not a dictionary"), std::string::npos);
  EXPECT_NE(ErrorOf("}.}").find("there are bytes after its end"), std::string::npos);
}

}  // namespace
}  // namespace tandem
