#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/stop_signal.h"
#include "ranks/membership.h"
#include "ranks/ranks.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<RankEnvironment> Read(const Variables& variables) {
  return ReadRankEnvironment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found != variables.end() ? std::optional(found->second) : std::nullopt;
  });
}

Variables FromTorchrun() {
  return {{"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"MASTER_ADDR", "node0"},
          {"MASTER_PORT", "29500"},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
          {"TORCHELASTIC_RUN_ID", "job"},
          {"TORCHELASTIC_RESTART_COUNT", "2"},
          {"TORCHELASTIC_MAX_RESTARTS", "5"}};
}

// Returns the message of the error when `name` has `value`, or is missing if `value` is null.
std::string ErrorWith(const std::string& name, const char* value) {
  Variables variables = FromTorchrun();
  variables.erase(name);
  if (value != nullptr) variables[name] = value;
  try {
    Read(variables);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(RankEnvironment, WithoutRanksThereIsNoGroup) {
  EXPECT_FALSE(Read({}));
  EXPECT_FALSE(Read({{"MASTER_ADDR", "node0"}, {"LOCAL_RANK", "1"}}));
  EXPECT_FALSE(Read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_FALSE(Read({{"WORLD_SIZE", "1"}}));
}

TEST(RankEnvironment, JobsOfSlurmDoNotMeet) {
  Variables variables = FromTorchrun();
  variables["SLURM_JOB_ID"] = "7";
  EXPECT_EQ(Read(variables)->run_id, "job");
  variables.erase("TORCHELASTIC_RUN_ID");
  EXPECT_EQ(Read(variables)->run_id, "7");
}

TEST(RankEnvironment, ReadsWhatTorchrunSets) {
  const auto environment = Read(FromTorchrun());
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->rank, 3);
  EXPECT_EQ(environment->world_size, 4);
  EXPECT_EQ(environment->local_rank, 1);
  EXPECT_EQ(environment->host, "node0");
  EXPECT_EQ(environment->port, 29500);
  EXPECT_TRUE(environment->launcher_holds_store);
  EXPECT_EQ(environment->run_id, "job");
  EXPECT_EQ(environment->restart, 2);
  EXPECT_EQ(environment->max_restarts, 5);
}

TEST(RankEnvironment, OtherLaunchersNeedFourVariables) {
  const auto environment = Read(
      {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(environment);
  EXPECT_FALSE(environment->launcher_holds_store);
  EXPECT_EQ(environment->restart, 0);
}

TEST(RankEnvironment, OneRankWithAMeetingPlaceIsAGroup) {
  const auto environment = Read(
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->world_size, 1);
}

TEST(RankEnvironment, ErrorsNameTheVariable) {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    EXPECT_NE(ErrorWith(name, nullptr).find(name), std::string::npos) << name;
    EXPECT_NE(ErrorWith(name, nullptr).find("is not set"), std::string::npos) << name;
  }
  EXPECT_NE(ErrorWith("RANK", "4").find("RANK is \"4\"; expected a number from 0 to 3"),
            std::string::npos);
  EXPECT_NE(ErrorWith("WORLD_SIZE", "two").find("expected a number at least 1"), std::string::npos);
  EXPECT_NE(ErrorWith("MASTER_PORT", "70000").find("from 1 to 65535"), std::string::npos);
  EXPECT_NE(ErrorWith("LOCAL_RANK", "-1").find("LOCAL_RANK"), std::string::npos);
  EXPECT_NE(ErrorWith("TORCHELASTIC_RESTART_COUNT", "").find("RESTART_COUNT"), std::string::npos);
}

TEST(AgreedStop, WaitsUntilTheRanksHaveDecided) {
  StopSignal requests;
  StopSignal local(&requests);
  AgreedStop stop(local);
  requests.Request();
  EXPECT_TRUE(stop.wants_stop());
  EXPECT_FALSE(stop.time_is_up());
  EXPECT_FALSE(stop.signal().Reached());
  stop.Decide(/*requested=*/true, /*time_is_up=*/true);
  EXPECT_TRUE(stop.signal().Reached());
  EXPECT_TRUE(stop.requested());
}

TEST(AgreedStop, ATimeLimitOfAnotherRankIsNoRequest) {
  const StopSignal local;
  AgreedStop stop(local);
  stop.Decide(/*requested=*/false, /*time_is_up=*/true);
  EXPECT_TRUE(stop.signal().Reached());
  EXPECT_FALSE(stop.requested());
}

}  // namespace
}  // namespace tandem
