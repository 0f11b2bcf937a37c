#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/text.h"
#include "report/comparison.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> Names(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(variant.name);
  return names;
}

TEST(Variants, CombineModesWithAllVariedValues) {
  const std::vector<std::string> modes = {"sequential", "async"};
  const std::vector<Variation> variations = {ParseVariation("prefetch.depth=1,4"),
                                             ParseVariation("train.threads=1,2")};
  const std::vector<Variant> variants = MakeVariants(modes, variations);
  EXPECT_THAT(
      Names(variants),
      ElementsAre(
          "sequential prefetch.depth=1 train.threads=1", "async prefetch.depth=1 train.threads=1",
          "sequential prefetch.depth=1 train.threads=2", "async prefetch.depth=1 train.threads=2",
          "sequential prefetch.depth=4 train.threads=1", "async prefetch.depth=4 train.threads=1",
          "sequential prefetch.depth=4 train.threads=2", "async prefetch.depth=4 train.threads=2"));
  EXPECT_EQ(variants[1].FolderName(), "async-prefetch.depth=1-train.threads=1");
}

TEST(Variants, OverridesNameTheOptionTheyCameFrom) {
  const std::vector<std::string> modes = {"async"};
  const std::vector<Variation> variations = {ParseVariation("prefetch.depth=1,4")};
  const std::vector<Override> overrides = MakeVariants(modes, variations)[1].Overrides();
  ASSERT_EQ(overrides.size(), 2);
  EXPECT_EQ(overrides[0].key + "=" + overrides[0].value, "pipeline.mode=async");
  EXPECT_EQ(overrides[1].key + "=" + overrides[1].value, "prefetch.depth=4");
  EXPECT_EQ(overrides[1].origin, "--vary prefetch.depth=4");
}

TEST(Variants, DoNotShareAFolder) {
  const std::vector<std::string> modes = {"async"};
  const std::vector<Variation> paths = {ParseVariation("data.path=x/a,x-a")};
  EXPECT_THAT(
      [&] { MakeVariants(modes, paths); },
      ThrowsMessage<InputError>(HasSubstr("would use the same folder, async-data.path=x-a")));
}

TEST(Variants, AlignedLagSetsThePolicyLag) {
  Variant variant{.name = "sequential data.path=/a/b c", .mode = "sequential", .varied = {}};
  EXPECT_EQ(variant.Overrides().size(), 1U);
  variant.aligned_lag = true;
  ASSERT_EQ(variant.Overrides().size(), 2U);
  EXPECT_EQ(variant.Overrides()[1].key + "=" + variant.Overrides()[1].value,
            "pipeline.policy_lag=1");
  EXPECT_EQ(variant.FolderName(), "sequential-data.path=-a-b-c");
}

TEST(Variants, SeedsAreTheirShortestTextsAndDiffer) {
  EXPECT_EQ(ParseSeeds("007,10"), (std::vector<std::string>{"7", "10"}));
  EXPECT_THAT([] { ParseSeeds("1,2,01"); },
              ThrowsMessage<InputError>(HasSubstr("--seeds 1,2,01: 1 is listed twice")));
  for (const char* seeds : {"-1", "1,x", "9223372036854775808"}) {
    EXPECT_THAT([&] { ParseSeeds(seeds); },
                ThrowsMessage<InputError>(
                    HasSubstr("expected whole numbers from 0 to 9223372036854775807")))
        << seeds;
  }
}

TEST(Variants, ListErrorsSayWhatWasExpected) {
  const auto expect = [](const char* text, const char* message) {
    EXPECT_THAT([&] { ParseVariation(text); }, ThrowsMessage<InputError>(HasSubstr(message)))
        << text;
  };
  expect("prefetch.depth", "expected KEY=VALUE1,VALUE2");
  expect("=1,2", "expected KEY=VALUE1,VALUE2");
  expect("prefetch.depth=1,1", "--vary prefetch.depth: 1,1: `1` is listed twice");
  expect("train.max_updates=1,2", "all runs do the same updates");
  expect("train.max_seconds=1,2", "all runs do the same updates");
  expect("prefetch.depth=4", "expected two values or more, such as prefetch.depth=1,2");
  expect("prefetch.depth=4,", "expected values separated by commas");
  expect("prefetch.depth=4,4", "`4` is listed twice");
  EXPECT_THAT([] { SplitList("1,,2", "--seeds"); },
              ThrowsMessage<InputError>(HasSubstr("--seeds 1,,2")));
}

}  // namespace
}  // namespace tandem
