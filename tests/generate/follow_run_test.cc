// Tests generators that follow a run, with a function in place of the network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "data/examples.h"
#include "data/stream_folder.h"
#include "generate/shard_jobs.h"
#include "support/stand_in_evaluator.h"
#include "support/temp_folder.h"
#include "support/wait.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class FollowingARun : public testing::Test {
 protected:
  FollowingARun() {
    config_.domain = {.name = "npuzzle", .argument = "3"};
    config_.generate.target = Target::kValueIteration;
    config_.generate.workers = 1;
    config_.data.stream_rows = 16;
    fs::create_directories(PublishedFolder(temp_.path()));
    folder_.Create();
    Publish(0);
  }

  void Publish(std::int64_t version, bool ended = false) const {
    const StreamManifest manifest{.ended = ended,
                                  .version = version,
                                  .weights_sha256 = std::to_string(version),
                                  .config = "seed: 1\n"};
    WriteFileAtomically(ManifestOf(temp_.path()), FormatManifest(manifest));
  }

  // Follows the run. `wrote` may publish.
  FollowEnd Follow(const std::function<void(int)>& wrote) {
    const auto generator = MakeGenerator(*domain_, config_, &network_);
    FollowProgress progress;
    int shards = 0;
    return FollowRun({.run = temp_.path(),
                      .name = "a",
                      .folder = folder_,
                      .kind = StreamKind(config_, domain_->spec()),
                      .config = config_,
                      .generator = *generator,
                      .load = load_,
                      .wrote = [&](const std::string&, const FollowProgress&) { wrote(++shards); }},
                     *ReadManifest(temp_.path()), stop_, progress);
  }

  std::vector<std::int64_t> Versions() const {
    std::vector<std::int64_t> versions;
    for (const StreamShardName& name : folder_.List().waiting) versions.push_back(name.version);
    return versions;
  }

  const TempFolder temp_;
  const StreamFolder folder_{temp_.path() / "stream"};
  const std::unique_ptr<const Domain> domain_ = MakeDomain("npuzzle:3");
  Config config_;
  float estimate_ = 0;
  StandInEvaluator network_{[this](std::span<const std::uint8_t>) { return estimate_; }};
  // The weights after update k estimate k.
  std::function<std::string(const fs::path&)> load_ = [this](const fs::path& path) {
    std::int64_t version = 0;
    while (PublishedWeights(temp_.path(), version) != path) ++version;
    estimate_ = static_cast<float>(version);
    return std::to_string(version);
  };
  StopSignal stop_;
};

TEST_F(FollowingARun, WritesShardsOfItsOwnRowsUntilTheRunEnds) {
  for (int start = 0; start < 2; ++start) {
    Publish(0);
    EXPECT_EQ(Follow([&](int shards) { Publish(0, /*ended=*/shards == 3); }), FollowEnd::kRunEnded);
  }
  std::set<std::int64_t> rows;
  for (const StreamShardName& name : folder_.List().waiting) {
    for (std::int64_t i = 0; i < name.rows; ++i)
      EXPECT_TRUE(rows.insert(name.first_row + i).second);
  }
  EXPECT_EQ(rows.size(), 2 * 3 * 16);
}

TEST_F(FollowingARun, LabelsWithTheNewestWeights) {
  Follow([&](int shards) { Publish(shards < 2 ? 0 : 5, /*ended=*/shards == 3); });
  EXPECT_THAT(Versions(), ElementsAre(0, 0, 5));
  const StreamShardName last = folder_.List().waiting.back();
  const DataBuffer rows =
      ReadStreamShard(folder_.path(), StreamKind(config_, domain_->spec()), last, 9);
  const std::span<const float> labels = rows.floats(kTargetColumn);
  EXPECT_EQ(*std::ranges::max_element(labels), 6);  // a move, and the estimate of its child
}

TEST_F(FollowingARun, PausesWhileEnoughShardsWait) {
  config_.data.stream_shards = 2;
  std::size_t most = 0;
  const std::jthread trainer([&] {
    for (int i = 0; i < 3; ++i) {
      WaitUntil([&] { return folder_.List().waiting.size() == 2; });
      folder_.MarkUsed(folder_.List().waiting.front());
    }
  });
  Follow([&](int shards) {
    most = std::max(most, folder_.List().waiting.size());
    if (shards == 5) Publish(0, /*ended=*/true);
  });
  EXPECT_EQ(most, 2);
}

TEST_F(FollowingARun, TakesNewerWeightsIfTheOnesThatItReadOfAreGone) {
  const auto load = load_;
  load_ = [this, load](const fs::path& path) {
    if (path == PublishedWeights(temp_.path(), 0)) {
      Publish(7);
      throw InputError("no such file");
    }
    return load(path);
  };
  Follow([&](int) { Publish(7, /*ended=*/true); });
  EXPECT_THAT(Versions(), ElementsAre(7));
}

TEST_F(FollowingARun, RefusesWeightsThatTheManifestDoesNotName) {
  load_ = [](const fs::path&) { return "other"; };
  EXPECT_THROW(Follow([](int) {}), InputError);
  EXPECT_THAT(Versions(), IsEmpty());
}

TEST_F(FollowingARun, EndsIfTheRunHasAnotherConfig) {
  EXPECT_EQ(Follow([&](int) {
              WriteFileAtomically(ManifestOf(temp_.path()),
                                  FormatManifest({.version = 0, .config = "seed: 2\n"}));
            }),
            FollowEnd::kConfigChanged);
}

TEST_F(FollowingARun, AStopLeavesOnlyWholeShards) {
  EXPECT_THROW(Follow([&](int) { stop_.Request(); }), Stopped);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path())) {
    if (entry.is_regular_file()) {
      EXPECT_TRUE(ParseStreamShardName(entry.path().filename().string())) << entry.path();
    }
  }
  EXPECT_EQ(Versions().size(), 1);
}

TEST_F(FollowingARun, ShardsHoldWholeSearches) {
  config_.generate.search = GenerateSearch::kGreedy;
  config_.generate.search_iterations = 5;
  Follow([&](int) { Publish(0, /*ended=*/true); });
  EXPECT_EQ(folder_.List().waiting.front().rows, 15);
}

TEST(AwaitManifest, WaitsForTheRunToPublish) {
  const TempFolder temp;
  const StopSignal never;
  bool waited = false;
  const StreamManifest manifest = AwaitManifest(temp.path(), never, [&] {
    waited = true;
    fs::create_directories(PublishedFolder(temp.path()));
    WriteFileAtomically(ManifestOf(temp.path()), FormatManifest({.version = 3}));
  });
  EXPECT_TRUE(waited);
  EXPECT_EQ(manifest.version, 3);
}

}  // namespace
}  // namespace tandem
