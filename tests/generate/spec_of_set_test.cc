// Tests that sets with different rows have different descriptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "config/fields.h"
#include "generate/shard_jobs.h"
#include "support/example_sets.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::UnorderedElementsAre;

class SpecOfSetTest : public testing::Test {
 protected:
  // The keys in `provenance` of a set with this target.
  static std::set<std::string> Keys(Target target, const std::string& device = "cpu") {
    Config config = Puzzle8Config();
    config.device = device;
    config.generate.target = target;
    const auto domain = MakeDomain(config.domain.full_name());
    std::set<std::string> names;
    for (const auto& [key, value] :
         SpecOfSet(config, domain->spec(), SmallShards(), "abc").provenance) {
      names.insert(key);
    }
    return names;
  }
};

TEST_F(SpecOfSetTest, WalkLengthSetHoldsAllKeysThatMatter) {
  EXPECT_THAT(Keys(Target::kWalkLength),
              testing::ElementsAre("generate.max_scramble", "network.head", "seed"));
}

TEST_F(SpecOfSetTest, SetWithExactLabelsHoldsTheKeysOfTheBall) {
  Config config = Puzzle8Config();
  config.generate.ball_radius = 3;
  const auto domain = MakeDomain(config.domain.full_name());
  const ShardSetSpec set = SpecOfSet(config, domain->spec(), SmallShards(), "");
  EXPECT_TRUE(set.provenance.contains("generate.ball_radius"));
  EXPECT_TRUE(set.provenance.contains("generate.anchor_share"));
}

TEST_F(SpecOfSetTest, SetLabelledByAFastBackendDiffersFromOneOfTheReference) {
  Config config = Puzzle8Config();
  config.device = "cpu";
  config.generate.target = Target::kValueIteration;
  config.backend = BackendKind::kCpu;
  const auto domain = MakeDomain(config.domain.full_name());
  const ShardSetSpec set = SpecOfSet(config, domain->spec(), SmallShards(), "abc");
  EXPECT_EQ(set.provenance.at("backend"), "cpu");
}

TEST_F(SpecOfSetTest, EveryKeyOfGenerationDeterminesRowsOrIsListedHere) {
  // generate.target is in the spec in another way.
  std::set<std::string> others = {"generate.target", "generate.workers", "generate.curriculum",
                                  "generate.program"};
  std::set<std::string> keys;
  Config config;
  for (const Field& field : FieldsOf(config)) {
    if (field.traits.is_in_sets != nullptr) keys.insert(field.key);
    EXPECT_LE(field.traits.is_in_streams, field.traits.is_in_sets != nullptr) << field.key;
    if (field.section() != "generate" && field.section() != "inference") continue;
    EXPECT_EQ(keys.erase(field.key) + others.erase(field.key), 1) << field.key;
  }
  EXPECT_THAT(keys, testing::ElementsAre("backend", "network.head", "seed"));
  EXPECT_TRUE(others.empty()) << *others.begin();
}

TEST_F(SpecOfSetTest, NetworkLabelledSetHoldsAllKeysThatMatter) {
  EXPECT_THAT(Keys(Target::kValueIteration),
              testing::ElementsAre(
                  "backend", "device", "generate.chunk_rows", "generate.max_scramble",
                  "generate.search", "generate.search_epsilon", "generate.search_iterations",
                  "generate.search_weight", "inference.batch_size", "inference.precision",
                  "inference.threads", "network.head", "seed", "weights_sha256"));
}

TEST_F(SpecOfSetTest, StreamHoldsItsKeysWhateverTheirValues) {
  const Config config = Puzzle8Config();
  const auto domain = MakeDomain(config.domain.full_name());
  std::set<std::string> names;
  for (const auto& [key, value] : StreamKind(config, domain->spec()).provenance) names.insert(key);
  // Another set of keys would make the shards of existing streams unusable.
  EXPECT_THAT(names, UnorderedElementsAre(
                         "generate.anchor_share", "generate.backup", "generate.ball_radius",
                         "generate.hindsight", "generate.max_scramble", "generate.rows_per_walk",
                         "generate.search", "generate.search_beam_width", "generate.search_epsilon",
                         "generate.search_iterations", "generate.search_weight",
                         "generate.temperature", "network.head", "seed"));
}

TEST_F(SpecOfSetTest, SetHoldsTheRowsOfAWalkIfNotAllAreRows) {
  Config config = Puzzle8Config();
  config.generate.target = Target::kWalkLength;
  const auto domain = MakeDomain(config.domain.full_name());
  const auto provenance = [&] {
    return SpecOfSet(config, domain->spec(), SmallShards(), "").provenance;
  };
  EXPECT_FALSE(provenance().contains("generate.rows_per_walk"));
  config.generate.rows_per_walk = 2;
  EXPECT_EQ(provenance().at("generate.rows_per_walk"), "2");
  config.generate.rows_per_walk.reset();
  config.generate.max_scramble = 70;
  EXPECT_EQ(provenance().at("generate.rows_per_walk"), "7");
  config.generate.target = Target::kValueIteration;  // takes the end of each walk
  EXPECT_FALSE(provenance().contains("generate.rows_per_walk"));
}

TEST_F(SpecOfSetTest, SetHoldsTheKeysOfSearchesThatMakeADifference) {
  Config config = Puzzle8Config();
  config.generate.target = Target::kValueIteration;
  config.generate.search = GenerateSearch::kBeam;
  config.generate.temperature = 0.5;
  config.generate.backup = Backup::kLhbl;
  config.generate.hindsight = true;
  const auto domain = MakeDomain(config.domain.full_name());
  const ShardSetSpec set = SpecOfSet(config, domain->spec(), SmallShards(), "abc");
  EXPECT_EQ(set.provenance.at("generate.search_beam_width"), "16");
  EXPECT_EQ(set.provenance.at("generate.temperature"), "0.5");
  EXPECT_EQ(set.provenance.at("generate.backup"), "lhbl");
  EXPECT_EQ(set.provenance.at("generate.hindsight"), "true");
}

TEST_F(SpecOfSetTest, NetworkLabelledSetHoldsTheInstructionSetOfACpu) {
  Config config = Puzzle8Config();
  config.generate.target = Target::kValueIteration;
  const auto domain = MakeDomain(config.domain.full_name());
  const auto provenance = [&](const char* device) {
    config.device = device;
    return SpecOfSet(config, domain->spec(), SmallShards(), "abc", "AVX2").provenance;
  };
  EXPECT_EQ(provenance("cpu").at("instruction_set"), "AVX2");
  EXPECT_EQ(provenance("cuda:0").count("instruction_set"), 0);
}

TEST_F(SpecOfSetTest, IsEqualForAllGpus) {
  EXPECT_EQ(Keys(Target::kValueIteration, "cuda:1").count("inference.threads"), 0);
  const Config config = [] {
    Config made = Puzzle8Config();
    made.generate.target = Target::kValueIteration;
    return made;
  }();
  const auto domain = MakeDomain(config.domain.full_name());
  const auto spec_on = [&](const char* device) {
    Config there = config;
    there.device = device;
    return SpecOfSet(there, domain->spec(), SmallShards(), "abc");
  };
  EXPECT_EQ(spec_on("cuda:0"), spec_on("cuda:1"));
  EXPECT_NE(spec_on("cuda:0"), spec_on("cpu"));
}

}  // namespace
}  // namespace tandem
