// Tests the table of config keys.
#include "config/fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace tandem {
namespace {

TEST(Fields, SettingAChoiceByNameSelectsThatChoice) {
  Config config;
  for (const Field& field : FieldsOf(config)) {
    const auto* choice = std::get_if<ChoiceField>(&field.value);
    if (choice == nullptr) continue;
    for (const std::string& name : choice->names) {
      EXPECT_TRUE(SetField(field, name)) << field.key;
      EXPECT_EQ(FieldText(field), name) << field.key;
    }
    EXPECT_FALSE(SetField(field, "none of them")) << field.key;
  }
  EXPECT_EQ(config.pipeline.mode, Mode::kSyncMain);
  EXPECT_EQ(config.train.precision, Precision::kBf16);
  EXPECT_TRUE(config.profile.timing_breakdown);
}

TEST(Fields, ListTheirChoicesWithTheMeanings) {
  Config config;
  const auto fields = FieldsOf(config);
  const auto meaning = [&](const char* key) {
    return std::ranges::find(fields, key, &Field::key)->meaning;
  };
  EXPECT_EQ(meaning("optimizer.schedule"),
            "Learning-rate schedule.\n"
            "- constant: no change.\n"
            "- linear: decrease to final_learning_rate at the last iteration.\n"
            "- exponential: multiply by decay after every iteration.");
}

TEST(DeviceName, ParsesTheIndexOfAGpu) {
  EXPECT_EQ(CudaIndex("cuda"), 0);
  EXPECT_EQ(CudaIndex("cuda:3"), 3);
  for (const char* wrong : {"cpu", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda1"}) {
    EXPECT_EQ(CudaIndex(wrong), std::nullopt) << wrong;
  }
}

TEST(Fields, DeviceMustBeAValidDeviceName) {
  Config config;
  const auto fields = FieldsOf(config);
  const Field& device = *std::ranges::find(fields, "device", &Field::key);
  for (const char* good : {"auto", "cpu", "cuda", "cuda:0", "cuda:12"}) {
    EXPECT_TRUE(SetField(device, good)) << good;
  }
  for (const char* bad : {"", "banana", "cuda:", "cuda:x", "cpu:0"}) {
    EXPECT_FALSE(SetField(device, bad)) << bad;
  }
}

TEST(Fields, UnknownKeyHasNoValue) {
  EXPECT_EQ(FindValueText(Config(), "generate.of_another_version"), std::nullopt);
  EXPECT_EQ(FindValueText(Config(), "pipeline.mode"), "async");
}

TEST(Fields, TenKeysAreMarkedAsTheOnesToTryFirst) {
  Config config;
  EXPECT_EQ(std::ranges::count_if(FieldsOf(config),
                                  [](const Field& field) { return field.traits.try_first; }),
            10);
}

TEST(Fields, EveryMeaningIsWrittenInSentences) {
  Config config;
  for (const Field& field : FieldsOf(config)) {
    if (std::holds_alternative<ArgumentField>(field.value)) continue;  // a puzzle's own words
    EXPECT_TRUE(field.meaning.ends_with(".")) << field.key;
  }
}

}  // namespace
}  // namespace tandem
