// Tests which values of two keys contradict each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/error_for.h"
#include "config/load.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Returns the error for a config with these keys and defaults otherwise; "" if the config is valid.
std::string ErrorOf(const std::vector<std::string>& sets) { return ErrorFor("", sets); }

void ExpectContradiction(const std::vector<std::string>& sets, const std::string& key,
                         const std::string& other, const std::string& why) {
  EXPECT_THAT(ErrorOf(sets), AllOf(HasSubstr("`" + key + ": "),
                                   HasSubstr("contradicts `" + other + ": "), HasSubstr(why)))
      << sets.back();
}

std::vector<std::string> With(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

const std::vector<std::string> kShards = {"data.source=shards", "data.path=set"};
const std::vector<std::string> kSyncMain = {"pipeline.mode=sync_main",
                                            "generate.target=value_iteration",
                                            "generate.search=greedy", "replay.updates=1"};

const std::vector<std::string> kTarget = {"generate.target=value_iteration"};

// A new target works with nothing that its traits do not name.
TEST(Validate, ATargetWithoutTraitsIsRefusedWhereverItWouldBeIgnored) {
  struct Refused {
    std::string key;
  };
  const auto refused = [](const auto& set) -> std::string {
    Config config;
    config.generate.target = Target::kRetrograde;
    set(config);
    try {
      Validate(config, [&](const std::string& key, const std::string& /*other*/,
                           const std::string& /*why*/) { throw Refused{key}; });
    } catch (const Refused& contradiction) {
      return contradiction.key;
    }
    return "nothing";
  };
  EXPECT_EQ(refused([](Config&) {}), "nothing");
  EXPECT_EQ(refused([](Config& c) { c.generate.search = GenerateSearch::kGreedy; }),
            "generate.search");
  EXPECT_EQ(refused([](Config& c) { c.generate.ball_radius = 3; }), "generate.ball_radius");
  EXPECT_EQ(refused([](Config& c) { c.generate.program = Program::kTensor; }), "generate.program");
  EXPECT_EQ(refused([](Config& c) { c.network.head = Head::kPolicy; }), "network.head");
  EXPECT_EQ(refused([](Config& c) { c.network.head = Head::kQ; }), "generate.target");
  EXPECT_EQ(refused([](Config& c) { c.pipeline.mode = Mode::kSyncMain; }), "pipeline.mode");
}

TEST(Validate, LinearInputLayerRejectsAStem) {
  EXPECT_EQ(ErrorOf({"network.input_layer=linear"}), "");
  EXPECT_EQ(ErrorOf({"network.stem_width=8"}), "");
  ExpectContradiction({"network.input_layer=linear", "network.stem_width=8"}, "network.input_layer",
                      "network.stem_width", "no activation between them");
  ExpectContradiction({"network.input_layer=linear", "network.blocks=0"}, "network.input_layer",
                      "network.blocks", "would be linear");
  ExpectContradiction(
      {"network.input_layer=linear", "network.kind=resnet_2d", "network.norm=batch"},
      "network.input_layer", "network.kind", "only resnet_fc");
}

TEST(Validate, ShardsNeedAFolderAndAFolderNeedsShards) {
  EXPECT_EQ(ErrorOf(kShards), "");
  ExpectContradiction({"data.path=set"}, "data.path", "data.source",
                      "only shards and streams are read");
  ExpectContradiction({"data.source=shards"}, "data.source", "data.path", "read from a folder");
}

TEST(Validate, AnchorsNeedABall) {
  ExpectContradiction({"generate.anchor_share=0.1"}, "generate.anchor_share",
                      "generate.ball_radius", "anchors are drawn from the ball");
  EXPECT_EQ(ErrorOf({"generate.anchor_share=0.1", "generate.ball_radius=4"}), "");
}

TEST(Validate, WithShardsEveryBatchHasAtLeastOneRowFromThem) {
  const auto with_share = [](const std::string& share, const std::string& batch) {
    return With(kShards, {"data.live_share=" + share, "train.batch_size=" + batch});
  };
  EXPECT_EQ(ErrorOf(with_share("0.5", "10")), "");
  EXPECT_EQ(ErrorOf(with_share("0.9", "10")), "");
  EXPECT_EQ(ErrorOf(with_share("0.1", "10")), "");
  ExpectContradiction(with_share("0.96", "10"), "data.live_share", "data.source", "no row");
  ExpectContradiction(with_share("0.04", "10"), "data.live_share", "train.batch_size",
                      "less than one row of a batch");
}

TEST(Validate, ReplayAndSyncMainNeedGeneratedRows) {
  ExpectContradiction(With(kShards, {"replay.updates=2"}), "replay.updates", "data.live_share",
                      "replay keeps rows that are generated");
  EXPECT_EQ(ErrorOf(With(kShards, {"replay.updates=2", "data.live_share=0.5"})), "");
  EXPECT_EQ(ErrorOf(With(With(kSyncMain, kShards), {"data.live_share=0.5"})), "");
  EXPECT_THAT(ErrorOf(With(kSyncMain, kShards)), HasSubstr("contradicts `data.live_share: 0`"));
  // A search may be too long for a buffer if no buffer is filled.
  EXPECT_EQ(ErrorOf(With(kShards,
                         {"generate.target=value_iteration", "generate.search=greedy",
                          "generate.search_iterations=100000", "train.iterations_per_update=1"})),
            "");
}

TEST(Validate, AStreamNeedsLabelsOfANetworkAndFixedWork) {
  const std::vector<std::string> stream = With(kTarget, {"data.source=stream"});
  EXPECT_EQ(ErrorOf(stream), "");
  EXPECT_EQ(ErrorOf(With(stream, {"data.live_share=0.5", "data.path=stream"})), "");
  ExpectContradiction({"data.source=stream"}, "data.source", "generate.target",
                      "the run can make them itself");
  ExpectContradiction(With(kSyncMain, {"data.source=stream", "data.live_share=0.5"}), "data.source",
                      "pipeline.mode", "labelled already");
  ExpectContradiction(
      With(stream, {"generate.search=greedy", "generate.curriculum=true", "data.live_share=0.5"}),
      "generate.curriculum", "data.source", "do not see them");
  ExpectContradiction(With(stream, {"train.max_updates=auto", "train.max_seconds=60"}),
                      "train.max_updates", "data.source", "come and go");
  const std::vector<std::string> parts = With(stream, {"train.accumulation_steps=2"});
  EXPECT_EQ(ErrorOf(parts), "");
  ExpectContradiction(With(parts, {"data.live_share=0.5"}), "train.accumulation_steps",
                      "data.source", "equal parts");
  ExpectContradiction(With(stream, {"generate.search=greedy", "data.stream_rows=10"}),
                      "data.stream_rows", "generate.search_iterations", "within a shard");
}

TEST(Validate, TimingBreakdownIsRejectedIfOtherWorkRunsAtTheSameTime) {
  const std::string timing = "profile.timing_breakdown=true";
  EXPECT_EQ(ErrorOf({timing}), "");
  ExpectContradiction(With(kShards, {timing}), "profile.timing_breakdown", "data.source",
                      "other threads read shards at the same time");
  ExpectContradiction(With(kSyncMain, {timing}), "profile.timing_breakdown", "pipeline.mode",
                      "evaluates states for searches between");
}

TEST(Validate, PolicyNeedsPolicyLabelsAndABeam) {
  const std::vector<std::string> policy = {"network.head=policy", "generate.target=policy"};
  EXPECT_EQ(ErrorOf(policy), "");
  for (const char* target : {"walk_length", "value_iteration", "capped_value_iteration"}) {
    ExpectContradiction({"network.head=policy", std::string("generate.target=") + target},
                        "network.head", "generate.target",
                        "labels states with costs. Set generate.target to policy or "
                        "own_solutions, or network.head to v or q.");
  }
  for (const char* head : {"v", "q"}) {
    ExpectContradiction({"generate.target=policy", std::string("network.head=") + head},
                        "generate.target", "network.head", "labels states with an action");
  }
  ExpectContradiction(With(policy, {"search.method=astar"}), "search.method", "network.head",
                      "a policy gives only probabilities");
  ExpectContradiction(With(policy, {"search.method=ida_star"}), "search.method", "network.head",
                      "a policy gives only probabilities");
  ExpectContradiction(With(policy, {"generate.search=greedy"}), "generate.search",
                      "generate.target", "leaves the random walk");
  // Examples on disk have their own labels.
  EXPECT_EQ(ErrorOf(With(kShards, {"network.head=policy"})), "");
}

TEST(Validate, KeysOfGeneratingSearchesNeedAFittingSearch) {
  const auto with_search = [](const std::string& search, const std::string& key) {
    return With(kTarget, {"generate.search=" + search, key});
  };
  for (const char* search : {"greedy", "beam"}) {
    EXPECT_EQ(ErrorOf(with_search(search, "generate.temperature=0.5")), "");
  }
  for (const char* search : {"none", "astar"}) {
    ExpectContradiction(with_search(search, "generate.temperature=0.5"), "generate.temperature",
                        "generate.search", "only greedy and beam searches choose");
  }
  for (const char* key : {"generate.curriculum=true", "generate.backup=lhbl",
                          "generate.backup=ubsoln", "generate.hindsight=true"}) {
    EXPECT_EQ(ErrorOf(with_search("astar", key)), "");
  }
  ExpectContradiction(with_search("none", "generate.curriculum=true"), "generate.curriculum",
                      "generate.search", "without a search nothing is solved");
  ExpectContradiction(with_search("none", "generate.backup=lhbl"), "generate.backup",
                      "generate.search", "states that a search expanded");
  ExpectContradiction(with_search("none", "generate.hindsight=true"), "generate.hindsight",
                      "generate.search", "the goal that the search did reach");
}

TEST(Validate, SyncMainSupportsBeamsAndHindsightButNoBackupsOverSearches) {
  EXPECT_EQ(ErrorOf(With(kSyncMain, {"generate.search=beam", "generate.temperature=1"})), "");
  EXPECT_EQ(ErrorOf(With(kSyncMain, {"generate.hindsight=true", "network.head=q"})), "");
  ExpectContradiction(With(kSyncMain, {"generate.backup=lhbl"}), "generate.backup", "pipeline.mode",
                      "the search that they come from is gone");
}

TEST(Validate, BeamMustEndWithinABuffer) {
  const std::vector<std::string> beam = {"generate.target=value_iteration", "generate.search=beam",
                                         "train.batch_size=10", "train.iterations_per_update=10",
                                         "generate.search_beam_width=20"};
  EXPECT_EQ(ErrorOf(With(beam, {"generate.search_iterations=5"})), "");
  ExpectContradiction(With(beam, {"generate.search_iterations=6"}), "generate.search_iterations",
                      "train.iterations_per_update",
                      "a search must end within a buffer, which has 100 rows, and fills 120");
}

TEST(Validate, ValueAndPolicyNeedsLabelsOfBoth) {
  EXPECT_EQ(ErrorOf({"network.head=vp", "train.policy_weight=0.5", "search.policy_weight=1"}), "");
  for (const char* target : {"walk_length", "value_iteration", "capped_value_iteration"}) {
    EXPECT_EQ(ErrorOf({"network.head=vp", std::string("generate.target=") + target}), "");
  }
  ExpectContradiction({"network.head=vp", "generate.target=policy"}, "generate.target",
                      "network.head", "labels states with an action");
  EXPECT_EQ(ErrorOf({"network.head=vp", "generate.ball_radius=2"}), "");
  ExpectContradiction({"train.policy_weight=2"}, "train.policy_weight", "network.head",
                      "only head vp learns");
  ExpectContradiction({"search.policy_weight=2"}, "search.policy_weight", "network.head",
                      "only head vp has");
  for (const std::string method :
       {"search.method=astar", "search.method=ida_star", "search.method=greedy"}) {
    ExpectContradiction({"network.head=vp", "search.policy_weight=2", method},
                        "search.policy_weight", "search.method", "by cost and estimate alone");
  }
  EXPECT_EQ(ErrorOf({"network.head=vp", "search.method=astar"}), "");
}

TEST(Validate, BatchNormalisationNeedsTwoExamplesWithoutTheStream) {
  const std::vector<std::string> stream = {"data.source=stream", "generate.target=value_iteration",
                                           "train.max_updates=9", "network.norm=batch",
                                           "train.batch_size=100"};
  ExpectContradiction(With(stream, {"data.live_share=0.01"}), "network.norm", "data.live_share",
                      "a single example");
  for (const char* share : {"data.live_share=0", "data.live_share=0.02"}) {
    EXPECT_EQ(ErrorOf(With(stream, {share})), "");
  }
}

TEST(Validate, AWalkHasNoMoreRowsThanActions) {
  EXPECT_EQ(ErrorOf({"generate.max_scramble=20", "generate.rows_per_walk=20"}), "");
  ExpectContradiction({"generate.max_scramble=20", "generate.rows_per_walk=21"},
                      "generate.rows_per_walk", "generate.max_scramble", "another state of a walk");
  // A buffer must hold the rows of a walk, but not all its states.
  const std::vector<std::string> small = {"train.batch_size=5", "train.iterations_per_update=2",
                                          "generate.max_scramble=20"};
  ExpectContradiction(small, "generate.max_scramble", "train.iterations_per_update",
                      "a walk must end within a buffer");
  EXPECT_EQ(ErrorOf(With(small, {"generate.rows_per_walk=10"})), "");
}

TEST(Validate, PolicyActionsNeedAPolicyAndASearchThatExpandsStates) {
  for (const std::string method : {"search.method=beam", "search.method=astar"}) {
    EXPECT_EQ(ErrorOf({"network.head=vp", "search.policy_actions=3", method}), "");
  }
  EXPECT_EQ(ErrorOf({"network.head=policy", "generate.target=policy", "search.policy_actions=3"}),
            "");
  for (const std::string head : {"network.head=v", "network.head=q"}) {
    ExpectContradiction({head, "search.policy_actions=3"}, "search.policy_actions", "network.head",
                        "does not say how probable actions are");
  }
  for (const std::string method : {"search.method=ida_star", "search.method=greedy"}) {
    ExpectContradiction({"network.head=vp", "search.policy_actions=3", method},
                        "search.policy_actions", "search.method", "expands all actions");
  }
}

TEST(Validate, QLearningNeedsAQNetAndNoSearch) {
  for (const char* target : {"q_learning", "capped_q_learning"}) {
    const std::vector<std::string> sets = {std::string("generate.target=") + target};
    EXPECT_EQ(ErrorOf(With(sets, {"network.head=q", "pipeline.refresh_every=2"})), "");
    EXPECT_EQ(ErrorOf(With(sets, {"network.head=q_in", "search.method=astar"})), "");
    for (const char* head : {"v", "vp"}) {
      ExpectContradiction(With(sets, {std::string("network.head=") + head}), "generate.target",
                          "network.head", "labels actions with costs");
    }
    ExpectContradiction(With(sets, {"network.head=q", "generate.search=greedy"}), "generate.search",
                        "generate.target", "all actions can be labelled");
    ExpectContradiction(With(kSyncMain, With(sets, {"network.head=q"})), "pipeline.mode",
                        "generate.target", "labels only one action");
  }
}

TEST(Validate, ActionAsInputLearnsFromEveryTargetOfCosts) {
  for (const char* target : {"walk_length", "q_learning", "capped_q_learning", "value_iteration",
                             "capped_value_iteration"}) {
    EXPECT_EQ(ErrorOf({"network.head=q_in", std::string("generate.target=") + target,
                       "generate.ball_radius=2"}),
              "");
  }
  EXPECT_EQ(ErrorOf(With(kSyncMain, {"network.head=q_in", "generate.search=astar"})), "");
}

TEST(Validate, SearchesBackwardsNeedAHeadOfStatesAndNoBall) {
  const std::string retrograde = "generate.target=retrograde";
  EXPECT_EQ(ErrorOf({retrograde}), "");
  EXPECT_EQ(ErrorOf({retrograde, "generate.dead_end_share=0.2", "replay.updates=2"}), "");
  for (const std::string head : {"q", "q_in", "vp"}) {
    ExpectContradiction({retrograde, "network.head=" + head}, "generate.target", "network.head",
                        "labels states with their costs-to-go");
  }
  ExpectContradiction({retrograde, "generate.ball_radius=4"}, "generate.ball_radius",
                      "generate.target", "takes no labels from the ball");
}

TEST(Validate, OwnSolutionsNeedASearchThatSolves) {
  const std::vector<std::string> own = {"generate.target=own_solutions", "generate.search=greedy"};
  for (const char* head : {"v", "q", "policy", "vp", "q_in"}) {
    EXPECT_EQ(ErrorOf(With(own, {std::string("network.head=") + head, "replay.updates=1"})), "");
    EXPECT_EQ(ErrorOf(With(own, {std::string("network.head=") + head, "generate.search=beam"})),
              "");
  }
  ExpectContradiction({"generate.target=own_solutions"}, "generate.target", "generate.search",
                      "no solutions to learn from");
  ExpectContradiction(
      With(own,
           {"generate.max_scramble=100", "train.batch_size=9", "train.iterations_per_update=9"}),
      "generate.max_scramble", "train.iterations_per_update", "a walk must end within a buffer");
  ExpectContradiction(With(own, {"generate.max_scramble=100", "data.source=stream",
                                 "data.stream_rows=64", "train.max_updates=9"}),
                      "data.stream_rows", "generate.max_scramble",
                      "a walk must end within a shard");
  ExpectContradiction(With(own, {"generate.search=astar"}), "generate.search", "generate.target",
                      "greedy or beam search");
  ExpectContradiction(With(own, {"generate.temperature=1"}), "generate.temperature",
                      "generate.target", "do not choose at random");
  ExpectContradiction(With(own, {"generate.backup=lhbl"}), "generate.backup", "generate.target",
                      "no estimates are backed up");
  ExpectContradiction(With(own, {"generate.hindsight=true"}), "generate.hindsight",
                      "generate.target", "random walks label");
  ExpectContradiction(With(own, {"generate.ball_radius=2"}), "generate.ball_radius",
                      "generate.target", "takes no labels from the ball");
  ExpectContradiction(With(own, {"pipeline.mode=sync_main", "replay.updates=1"}), "pipeline.mode",
                      "generate.target", "a solution labels all its states at once");
}

TEST(Validate, SeriesOfGamesMustEndWithinABufferAndAShard) {
  const std::vector<std::string> games = {"generate.target=self_play", "network.head=vp",
                                          "validation.every_updates=0", "generate.max_scramble=50"};
  EXPECT_EQ(ErrorOf(games), "");
  ExpectContradiction(With(games, {"train.batch_size=7", "train.iterations_per_update=7"}),
                      "generate.max_scramble", "train.iterations_per_update",
                      "a series of games must end within a buffer");
  ExpectContradiction(
      With(games, {"data.source=stream", "data.stream_rows=49", "train.max_updates=9"}),
      "data.stream_rows", "generate.max_scramble", "a series of games must end within a shard");
}

TEST(Validate, SearchMustEndWithinABuffer) {
  const std::vector<std::string> search = {"generate.target=value_iteration",
                                           "generate.search=astar", "train.batch_size=10",
                                           "train.iterations_per_update=10"};
  EXPECT_EQ(ErrorOf(With(search, {"generate.search_iterations=100"})), "");
  ExpectContradiction(With(search, {"generate.search_iterations=101"}),
                      "generate.search_iterations", "train.iterations_per_update",
                      "which has 100 rows");
  // Without a search, search_iterations does not matter.
  EXPECT_EQ(
      ErrorOf({"train.batch_size=10", "train.iterations_per_update=1", "generate.max_scramble=10"}),
      "");
}

TEST(Validate, RowsOfAWalkLieWithinABuffer) {
  const std::vector<std::string> small = {"train.batch_size=10", "train.iterations_per_update=4"};
  EXPECT_EQ(ErrorOf(With(small, {"generate.max_scramble=40"})), "");
  ExpectContradiction(With(small, {"generate.max_scramble=41"}), "generate.max_scramble",
                      "train.iterations_per_update", "a buffer, which has 40 rows");
  // By default, a tenth of the states of a long walk are rows.
  EXPECT_EQ(ErrorOf(With(small, {"generate.max_scramble=409"})), "");
  ExpectContradiction(With(small, {"generate.max_scramble=410"}), "generate.max_scramble",
                      "train.iterations_per_update", "a walk must end within a buffer");
  // With value iteration only the end of a walk is an example.
  EXPECT_EQ(ErrorOf(With(small, {"generate.max_scramble=41", "generate.target=value_iteration"})),
            "");
  // Rows from shards do not come from walks of this run.
  EXPECT_EQ(ErrorOf(With(With(kShards, small), {"generate.max_scramble=41"})), "");
  EXPECT_THAT(
      ErrorOf(With(With(kShards, small), {"generate.max_scramble=21", "data.live_share=0.5"})),
      HasSubstr("a buffer, which has 20 rows"));
}

TEST(Config, RowsOfAWalkAreAllOfAShortWalkAndATenthOfALongOne) {
  EXPECT_EQ((GenerateConfig{.max_scramble = 50}).rows_of_walk(), 50);
  EXPECT_EQ((GenerateConfig{.max_scramble = 51}).rows_of_walk(), 5);
  EXPECT_EQ((GenerateConfig{.max_scramble = 51, .rows_per_walk = 51}).rows_of_walk(), 51);
  // All states of the searches that own_solutions starts from walks are rows.
  EXPECT_EQ((GenerateConfig{.target = Target::kOwnSolutions, .max_scramble = 51}).rows_of_walk(),
            51);
}

TEST(Validate, DecreasingScheduleMustNotEndAboveItsStart) {
  const std::vector<std::string> sets = {"optimizer.schedule=linear",
                                         "optimizer.learning_rate=0.001"};
  EXPECT_EQ(ErrorOf(With(sets, {"optimizer.final_learning_rate=0.001"})), "");
  ExpectContradiction(With(sets, {"optimizer.final_learning_rate=0.0011"}),
                      "optimizer.final_learning_rate", "optimizer.learning_rate",
                      "at or below its start");
  EXPECT_EQ(ErrorOf({"optimizer.learning_rate=0.001", "optimizer.final_learning_rate=0.0011"}), "");
}

TEST(Validate, BatchMustSplitIntoEqualPartsThatAreLargeEnough) {
  ExpectContradiction({"train.batch_size=10", "train.accumulation_steps=3"},
                      "train.accumulation_steps", "train.batch_size", "must be a multiple");
  EXPECT_EQ(ErrorOf({"train.batch_size=10", "train.accumulation_steps=10"}), "");
  ExpectContradiction({"train.batch_size=10", "train.accumulation_steps=10", "network.norm=batch"},
                      "network.norm", "train.batch_size", "at least 2 examples");
  EXPECT_EQ(ErrorOf({"train.batch_size=10", "train.accumulation_steps=5", "network.norm=batch"}),
            "");
}

TEST(Validate, AutoMaxUpdatesNeedsATimeLimit) {
  ExpectContradiction({"train.max_updates=auto"}, "train.max_updates", "train.max_seconds",
                      "more than 0 seconds");
  EXPECT_EQ(ErrorOf({"train.max_updates=auto", "train.max_seconds=1"}), "");
}

TEST(Validate, AnytimeBeamNeedsATimeLimit) {
  ExpectContradiction({"search.method=anytime_beam"}, "search.method", "search.max_seconds",
                      "more than 0 seconds");
  EXPECT_EQ(ErrorOf({"search.method=anytime_beam", "search.max_seconds=1"}), "");
}

TEST(Validate, SizesDoNotOverflow) {
  EXPECT_EQ(ErrorOf({"train.batch_size=65537", "train.iterations_per_update=65535"}), "");
  ExpectContradiction({"train.batch_size=65536", "train.iterations_per_update=65536"},
                      "train.batch_size", "train.iterations_per_update", "4,294,967,295");
  ExpectContradiction({"train.batch_size=1000000", "train.iterations_per_update=4000",
                       "train.max_updates=1000000000"},
                      "train.max_updates", "train.iterations_per_update", "10^18 examples");
}

TEST(Validate, KindOfNetworkMustSupportTheOtherKeys) {
  const std::vector<std::string> board = {"network.kind=resnet_2d", "network.norm=batch"};
  EXPECT_EQ(ErrorOf(board), "");
  ExpectContradiction({"network.kind=resnet_2d"}, "network.norm", "network.kind", "batch or none");
  ExpectContradiction(With(board, {"network.stem_width=9"}), "network.stem_width", "network.kind",
                      "linear layer");
  EXPECT_EQ(ErrorOf({"network.kind=mlp", "network.stem_width=9"}), "");
  ExpectContradiction({"network.kind=mlp", "network.input_layer=linear"}, "network.input_layer",
                      "network.kind", "only resnet_fc");
}

TEST(Validate, Int8NeedsTheBackendOfCpus) {
  for (const char* backend : {"backend=reference", "backend=gpu"}) {
    ExpectContradiction({"inference.precision=int8", backend}, "inference.precision", "backend",
                        "only backend cpu computes in int8");
  }
  for (const char* backend : {"backend=cpu", "backend=auto"}) {
    EXPECT_EQ(ErrorOf({"inference.precision=int8", backend}), "");
    EXPECT_EQ(ErrorOf({"inference.precision=int8", backend, "network.kind=mlp"}), "");
  }
}

TEST(Validate, Fp8NeedsTheBackendOfGpusAndAlignedWidths) {
  const std::string fp8 = "inference.precision=fp8";
  const std::string gpu = "backend=gpu";
  EXPECT_EQ(ErrorOf({fp8, gpu}), "");
  EXPECT_EQ(ErrorOf({fp8, "backend=auto"}), "");
  EXPECT_EQ(ErrorOf({fp8, "network.norm=batch", "network.width=1001"}), "");
  for (const char* backend : {"backend=cpu", "backend=reference"}) {
    ExpectContradiction({fp8, backend}, "inference.precision", "backend", "Set backend to gpu");
  }
  ExpectContradiction({fp8, gpu, "network.norm=layer", "network.width=1001"}, "inference.precision",
                      "network.width", "multiples of 16");
  ExpectContradiction({fp8, gpu, "network.norm=rms", "network.stem_width=500"},
                      "inference.precision", "network.stem_width", "multiples of 16");
  EXPECT_EQ(ErrorOf({fp8, gpu, "network.kind=mlp"}), "");
}

TEST(Validate, FastBackendsNeedAFullyConnectedNetwork) {
  const std::vector<std::string> board = {"network.kind=resnet_2d", "network.norm=batch"};
  for (const char* backend : {"backend=auto", "backend=reference"}) {
    EXPECT_EQ(ErrorOf(With(board, {backend})), "");
  }
  for (const char* backend : {"backend=cpu", "backend=gpu"}) {
    ExpectContradiction(With(board, {backend}), "backend", "network.kind",
                        "resnet_fc and mlp only");
    EXPECT_EQ(ErrorOf({backend, "network.kind=mlp"}), "");
  }
  ExpectContradiction(With(board, {"inference.precision=int8"}), "inference.precision",
                      "network.kind", "resnet_fc and mlp");
}

TEST(Validate, InverseNeedsBeamSearch) {
  for (const std::string method :
       {"search.method=astar", "search.method=ida_star", "search.method=greedy"}) {
    ExpectContradiction({"search.inverse=true", method}, "search.inverse", "search.method",
                        "only beam search starts from a position and its inverse");
    EXPECT_EQ(ErrorOf({"search.inverse=auto", method}), "");
  }
  EXPECT_EQ(ErrorOf({"search.inverse=true", "search.method=anytime_beam", "search.max_seconds=5"}),
            "");
  EXPECT_EQ(ErrorOf({"search.inverse=true", "search.at_most=20"}), "");
}

TEST(Validate, QStarNeedsTheCostsOfActions) {
  for (const std::string head : {"q", "q_in"}) {
    EXPECT_EQ(ErrorOf({"search.method=q_star", "network.head=" + head}), "");
  }
  ExpectContradiction({"search.method=q_star"}, "search.method", "network.head",
                      "needs the costs of actions");
}

TEST(Validate, BeamsAndGreedySearchFollowAPolicy) {
  const std::vector<std::string> policy = {"network.head=policy", "generate.target=policy"};
  for (const char* method : {"beam", "greedy", "bidirectional_beam", "anytime_beam"}) {
    EXPECT_EQ(
        ErrorOf(With(policy, {std::string("search.method=") + method, "search.max_seconds=5"})),
        "");
  }
  for (const char* method : {"astar", "q_star", "ida_star"}) {
    ExpectContradiction(With(policy, {std::string("search.method=") + method}), "search.method",
                        "network.head", "only probabilities");
  }
}

TEST(Validate, TensorProgramOfGenerationNamesWhatItDoesNotSupport) {
  const std::vector<std::string> tensor = {"generate.program=tensor"};
  EXPECT_EQ(ErrorOf(tensor), "");
  EXPECT_EQ(ErrorOf(With(tensor, {"generate.target=capped_value_iteration"})), "");
  const auto expect = [&](const std::vector<std::string>& more, const std::string& other,
                          const std::string& why) {
    ExpectContradiction(With(tensor, more), "generate.program", other, why);
  };
  expect({"generate.target=q_learning", "network.head=q"}, "generate.target", "no such labels");
  expect({"network.head=q"}, "network.head", "network.head to v");
  expect({"generate.target=value_iteration", "generate.search=greedy"}, "generate.search",
         "no searches that generate");
  expect({"generate.ball_radius=3"}, "generate.ball_radius", "in host memory");
  expect({"replay.updates=2"}, "replay.updates", "replay keeps rows in host memory");
}

TEST(Validate, TensorProgramOfSearchNamesWhatItDoesNotSupport) {
  const std::vector<std::string> tensor = {"search.program=tensor"};
  EXPECT_EQ(ErrorOf(With(tensor, {"search.ball_radius=3"})), "");
  const auto expect = [&](const std::vector<std::string>& more, const std::string& other,
                          const std::string& why) {
    ExpectContradiction(With(tensor, more), "search.program", other, why);
  };
  expect({"search.method=astar"}, "search.method", "only beam search");
  expect({"network.head=q"}, "network.head", "by their estimates");
  expect({"network.head=vp", "search.policy_weight=1"}, "search.policy_weight",
         "does not evaluate the policy");
  expect({"network.head=vp", "search.policy_actions=1"}, "search.policy_actions",
         "does not evaluate the policy");
}

}  // namespace
}  // namespace tandem
