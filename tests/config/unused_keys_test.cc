#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "config/fields.h"
#include "config/load.h"
#include "support/source_folder.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> UnusedOf(const std::string& yaml) {
  return DescribeUnusedKeys(ParseConfig(yaml, "my.yaml"));
}

TEST(UnusedKeys, AreNamedWithTheReason) {
  EXPECT_THAT(
      UnusedOf("optimizer: {final_learning_rate: 0.5}\ngenerate: {search_weight: 2}\n"),
      ElementsAre(
          "`generate.search_weight: 2` has no effect: only `generate.search: astar` reads it",
          "`optimizer.final_learning_rate: 0.5` has no effect: only `optimizer.schedule: linear` "
          "reads it"));
}

TEST(UnusedKeys, AreNoneIfTheKeysAreUsedOrHaveTheirDefaults) {
  EXPECT_THAT(UnusedOf("optimizer: {schedule: exponential, decay: 0.5}\n"
                       "generate: {target: value_iteration, search: astar, search_weight: 2}\n"),
              IsEmpty());
  EXPECT_THAT(UnusedOf(""), IsEmpty());
  EXPECT_THAT(UnusedOf(ToYaml(ParseConfig("", "my.yaml"))), IsEmpty());
}

TEST(UnusedKeys, OfTargetNetworksAndDataAreNamed) {
  EXPECT_THAT(UnusedOf("pipeline: {loss_thresh: 0.1, refresh_every: 3}\ndata: {max_lag: 3}\n"),
              SizeIs(3));
  EXPECT_THAT(UnusedOf("generate: {target: value_iteration}\n"
                       "pipeline: {loss_thresh: 0.1, refresh_every: 3}\n"),
              IsEmpty());
}

TEST(UnusedKeys, OfDataAndProfilesAreNamed) {
  EXPECT_THAT(UnusedOf("data: {max_lag: 3}\n"
                       "profile: {trace_from: 2}\n"
                       "pipeline: {mode: sequential}\n"),
              SizeIs(2));
  EXPECT_THAT(UnusedOf("data: {source: shards, path: set}\n"
                       "profile: {trace_from: 2, trace_updates: 3}\n"),
              IsEmpty());
}

TEST(UnusedKeys, OfGenerationAreNamedIfAllRowsComeFromShards) {
  const std::string shards = "data: {source: shards, path: set, live_share: ";
  const std::string generate =
      "}\ngenerate: {target: value_iteration, search: greedy, curriculum: true, hindsight: true, "
      "ball_radius: 3, max_scramble: 9}\n";
  EXPECT_THAT(UnusedOf(shards + "0" + generate), SizeIs(5));
  EXPECT_THAT(UnusedOf(shards + "0}\ngenerate: {ball_radius: 3}\n"),
              ElementsAre("`generate.ball_radius: 3` has no effect: all rows come from shards, "
                          "which `tandem generate` has written"));
  EXPECT_THAT(UnusedOf(shards + "0.5" + generate), IsEmpty());
}

TEST(UnusedKeys, OfSearchesAreThoseThatTheMethodDoesNotRead) {
  std::vector<Override> overrides;
  for (const char* key :
       {"search.weight=0.2", "search.beam_width=7", "search.batch=1000", "optimizer.decay=0.8"}) {
    overrides.push_back(ParseOverride(key));
  }
  const auto unused = [&](const std::string& method) {
    return DescribeUnusedSearchKeys(
        ParseConfig("search: {weight: 0.2, method: " + method + "}\n", "my.yaml"), overrides);
  };
  EXPECT_THAT(unused("beam"),
              ElementsAre("`search.weight: 0.2` has no effect: only `search.method: astar`, "
                          "`q_star` or `ida_star` reads it",
                          "`search.batch: 1000` has no effect: only `search.method: astar` or "
                          "`q_star` reads it"));
  EXPECT_THAT(unused("astar"), SizeIs(1));
  EXPECT_THAT(unused("greedy"), SizeIs(3));
}

TEST(UnusedKeys, HaveAReasonAndNeedKeysThatExist) {
  Config config;
  for (const Field& field : FieldsOf(config)) {
    EXPECT_EQ(field.traits.is_used == nullptr, field.traits.why_unused.empty()) << field.key;
    for (const Need& need : field.traits.needs) {
      EXPECT_TRUE(FindValueText(config, need.other)) << need.other;
    }
  }
}

TEST(UnusedKeys, AreInNoConfigOfTandem) {
  int configs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SourceFolder() / "configs")) {
    EXPECT_THAT(DescribeUnusedKeys(LoadConfig(entry.path().string())), IsEmpty()) << entry.path();
    ++configs;
  }
  EXPECT_GT(configs, 20);
}

}  // namespace
}  // namespace tandem
