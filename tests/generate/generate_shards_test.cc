// Tests that the files are byte-identical whichever process writes them and however often it stops.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "base/file.h"
#include "data/shard_set.h"
#include "generate/shard_jobs.h"
#include "support/example_sets.h"
#include "support/stand_in_evaluator.h"
#include "support/temp_folder.h"
#include "tandem/error.h"

namespace tandem {
namespace {

using testing::HasSubstr;

std::map<std::string, std::string> FilesIn(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = ReadFile(entry.path());
  }
  return files;
}

// Forwards requests to another generator, and calls `before` before each.
class Watched final : public Generator {
 public:
  Watched(Generator& generator, std::function<void(const FillRequest&)> before)
      : generator_(generator), before_(std::move(before)) {}
  bool needs_network() const override { return generator_.needs_network(); }
  const Schema& schema() const override { return generator_.schema(); }
  void Fill(const FillRequest& request, DataBuffer& out, const StopSignal& stop) override {
    before_(request);
    generator_.Fill(request, out, stop);
  }

 private:
  Generator& generator_;
  std::function<void(const FillRequest&)> before_;
};

class GenerateShardsTest : public testing::Test {
 protected:
  GenerateShardsTest() { MakeShards(whole_.path()); }

  const TempFolder whole_;  // the set, generated without interruption
  const TempFolder folder_;
};

TEST_F(GenerateShardsTest, SeveralProcessesGiveTheSameFilesAsOne) {
  for (const std::int64_t i : {1, 0}) {
    MakeShards(folder_.path(), SmallShards(), {.rank = i, .world_size = 2});
  }
  EXPECT_EQ(FilesIn(folder_.path()), FilesIn(whole_.path()));
}

TEST_F(GenerateShardsTest, ResumesAfterAStop) {
  const Config config = Puzzle8Config();
  const auto domain = MakeDomain(config.domain.full_name());
  const auto generator = MakeGenerator(*domain, config, nullptr);
  const ShardSetSpec set = SpecOfSet(config, domain->spec(), SmallShards(), "");
  StopSignal stop;
  Watched watched(*generator, [&](const FillRequest& request) {
    if (request.first_row == 4 * 128) stop.Request();  // in the second shard
  });
  const auto no_progress = [](const GenerateProgress&) {};
  EXPECT_THROW(GenerateShards(watched, set, folder_.path(), {}, stop, no_progress), Stopped);
  EXPECT_EQ(FilesIn(folder_.path()).size(), 1U);  // the first shard, and nothing half-written

  GenerateProgress last;
  std::vector<std::int64_t> asked;
  Watched again(*generator,
                [&](const FillRequest& request) { asked.push_back(request.first_row); });
  const StopSignal go;
  GenerateShards(again, set, folder_.path(), {}, go, [&](const auto& p) { last = p; });
  EXPECT_EQ(asked.front(), 3 * 128);
  EXPECT_EQ(last.rows_found, 3 * 128);
  EXPECT_EQ(last.rows_made, 1000 - 3 * 128);
  EXPECT_EQ(last.rows, 1000);
  EXPECT_EQ(last.bytes, std::ssize(FilesIn(folder_.path())["shard-000001.tandem"]) +
                            std::ssize(FilesIn(folder_.path())["shard-000002.tandem"]));
  EXPECT_EQ(FilesIn(folder_.path()), FilesIn(whole_.path()));
}

TEST_F(GenerateShardsTest, RegeneratesAShardWithADamagedHeader) {
  MakeShards(folder_.path());
  std::filesystem::resize_file(ShardPath(folder_.path(), 1), 50);
  MakeShards(folder_.path());
  EXPECT_EQ(FilesIn(folder_.path()), FilesIn(whole_.path()));
}

TEST_F(GenerateShardsTest, RegeneratesAnIncompleteShard) {
  MakeShards(folder_.path());
  const std::filesystem::path path = ShardPath(folder_.path(), 1);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  MakeShards(folder_.path());
  EXPECT_EQ(FilesIn(folder_.path()), FilesIn(whole_.path()));
}

TEST_F(GenerateShardsTest, RegeneratesAShardWithTheWrongName) {
  MakeShards(folder_.path());
  std::filesystem::copy_file(ShardPath(folder_.path(), 0), ShardPath(folder_.path(), 1),
                             std::filesystem::copy_options::overwrite_existing);
  MakeShards(folder_.path());
  EXPECT_EQ(FilesIn(folder_.path()), FilesIn(whole_.path()));
}

TEST_F(GenerateShardsTest, RemovesPartialFilesOfDeadProcesses) {
  const std::string dead = ShardPath(folder_.path(), 0).string() + ".999999999.partial";
  const std::string other = ShardPath(folder_.path(), 1).string() + ".999999999.partial";
  WriteFileAtomically(dead, "half");
  WriteFileAtomically(other, "half");
  MakeShards(folder_.path(), SmallShards(), {.rank = 0, .world_size = 2});
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(other));  // belongs to another share
}

TEST_F(GenerateShardsTest, KeepsFilesThatOnlyLookLikePartialFiles) {
  const std::string shard = ShardPath(folder_.path(), 0).string();
  const std::vector<std::string> others = {
      fmt::format("{}.{}.partial", shard, ::getppid()),  // its process is alive
      shard + ".999999999.partial.partial",
      shard + ".999999999x.partial",
      shard + ".-999999999.partial",
      shard + "..partial",
      shard + ".partial",
      shard + "x.999999999.partial",
      (folder_.path() / ".partial").string(),
      (folder_.path() / "notes").string()};
  for (const std::string& path : others) WriteFileAtomically(path, "mine");
  MakeShards(folder_.path());
  for (const std::string& path : others) EXPECT_TRUE(std::filesystem::exists(path)) << path;
}

TEST_F(GenerateShardsTest, RejectsAFolderOfAnotherSetAndNamesTheDifference) {
  MakeShards(folder_.path());
  Config config = Puzzle8Config();
  config.generate.max_scramble = 20;
  try {
    MakeShards(folder_.path(), SmallShards(), {}, config);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("generate.max_scramble is 13 there and 20 here"));
  }
}

// Each process looks for its own shards only, so it would not see those of the other set.
TEST_F(GenerateShardsTest, RejectsAFolderWhereAnotherProcessWritesAnotherSet) {
  Config other = Puzzle8Config();
  other.seed = 2;
  MakeShards(folder_.path(), SmallShards(), {.rank = 0, .world_size = 2});
  const auto before = FilesIn(folder_.path());
  EXPECT_THAT(
      [&] { MakeShards(folder_.path(), SmallShards(), {.rank = 1, .world_size = 2}, other); },
      testing::ThrowsMessage<InputError>(testing::AllOf(HasSubstr("shard-000000.tandem"),
                                                        HasSubstr("seed is 1 there and 2 here"))));
  EXPECT_EQ(FilesIn(folder_.path()), before);
}

TEST_F(GenerateShardsTest, ReportsAnotherSetThatAppearedMeanwhile) {
  Config other = Puzzle8Config();
  other.seed = 2;
  const Config config = Puzzle8Config();
  const auto domain = MakeDomain(config.domain.full_name());
  const auto generator = MakeGenerator(*domain, config, nullptr);
  const TempFolder elsewhere;
  MakeShards(elsewhere.path(), SmallShards(), {}, other);
  const std::filesystem::path foreign = ShardPath(folder_.path(), 1);
  Watched watched(*generator, [&](const FillRequest&) {
    std::filesystem::copy_file(ShardPath(elsewhere.path(), 1), foreign,
                               std::filesystem::copy_options::skip_existing);
  });
  const auto generate = [&] {
    GenerateShards(watched, SpecOfSet(config, domain->spec(), SmallShards(), ""), folder_.path(),
                   {.rank = 0, .world_size = 2}, StopSignal(), [](const GenerateProgress&) {});
  };
  EXPECT_THAT(generate,
              testing::ThrowsMessage<InputError>(HasSubstr("seed is 2 there and 1 here")));
}

TEST_F(GenerateShardsTest, DoesNotReplaceAShardOfANewerVersion) {
  MakeShards(folder_.path());
  const std::filesystem::path shard = ShardPath(folder_.path(), 1);
  std::string content = ReadFile(shard);
  content.replace(0, 14, "tandem shard 3");
  WriteFileAtomically(shard, content);
  EXPECT_THAT([&] { MakeShards(folder_.path()); },
              testing::ThrowsMessage<InputError>(
                  HasSubstr("shard-000001.tandem: its layout has number 3, expected at most 2")));
  EXPECT_EQ(ReadFile(shard), content);
}

TEST_F(GenerateShardsTest, RowsDifferFromARunWithTheSameSeed) {
  const Config config = Puzzle8Config();
  const auto domain = MakeDomain(config.domain.full_name());
  DataBuffer live(ExampleSchema(domain->spec()), 128);
  const StopSignal stop;
  MakeGenerator(*domain, config, nullptr)->Fill({.rows = 128}, live, stop);
  std::vector<std::byte> stored(live.bytes().size());
  ShardSet(whole_.path()).Read(0, stored);
  EXPECT_FALSE(std::ranges::equal(stored, live.bytes()));
}

TEST_F(GenerateShardsTest, NetworkLabelsAreTheSameInSeveralProcesses) {
  Config config = Puzzle8Config();
  config.generate.target = Target::kValueIteration;
  const auto domain = MakeDomain(config.domain.full_name());
  StandInEvaluator network([](auto input) { return static_cast<float>(input[0] + input[8]); });
  const auto generator = MakeGenerator(*domain, config, &network);
  config.inference.threads = 1;
  const ShardSetSpec set = SpecOfSet(config, domain->spec(), SmallShards(), "abc");
  EXPECT_EQ(set.provenance.at("weights_sha256"), "abc");
  const StopSignal stop;
  const TempFolder alone;
  const auto no_progress = [](const GenerateProgress&) {};
  GenerateShards(*generator, set, alone.path(), {}, stop, no_progress);
  for (const std::int64_t i : {0, 1, 2}) {
    GenerateShards(*generator, set, folder_.path(), {.rank = i, .world_size = 3}, stop,
                   no_progress);
  }
  EXPECT_EQ(FilesIn(folder_.path()), FilesIn(alone.path()));
}

TEST_F(GenerateShardsTest, RejectsAFileAsFolder) {
  const std::filesystem::path file = folder_.path() / "file";
  WriteFileAtomically(file, "");
  EXPECT_THROW(MakeShards(file), InputError);
}

// The error must be the one of the first chunk, not the ones of the later chunks that it causes.
TEST_F(GenerateShardsTest, NamesTheShardThatCannotBeCreated) {
  const std::string aside =
      fmt::format("{}.{}.partial", ShardPath(folder_.path(), 0).string(), ::getpid());
  std::filesystem::create_directory(aside);
  try {
    MakeShards(folder_.path());
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("shard-000000.tandem: Is a directory"));
  }
}

TEST_F(GenerateShardsTest, FailureToWriteIsReportedIfTheNextChunkIsStopped) {
  const Config config = Puzzle8Config();
  const auto domain = MakeDomain(config.domain.full_name());
  const auto generator = MakeGenerator(*domain, config, nullptr);
  Watched stopped(*generator, [](const FillRequest& request) {
    if (request.first_row > 0) throw Stopped();
  });
  std::filesystem::create_directory(
      fmt::format("{}.{}.partial", ShardPath(folder_.path(), 0).string(), ::getpid()));
  EXPECT_THROW(GenerateShards(stopped, SpecOfSet(config, domain->spec(), SmallShards(), ""),
                              folder_.path(), {}, StopSignal(), [](const GenerateProgress&) {}),
               Error);
}

TEST_F(GenerateShardsTest, RejectsSetsLargerThanTheFreeDiskSpace) {
  try {
    MakeShards(
        folder_.path(),
        {.examples = std::int64_t{1} << 49, .chunk_rows = 1 << 27, .chunks_per_shard = 1 << 19});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(folder_.path().string() + ": it needs "));
    EXPECT_THAT(error.what(), HasSubstr("TiB), and the file system has "));
  }
  EXPECT_TRUE(FilesIn(folder_.path()).empty());
}

TEST_F(GenerateShardsTest, RejectsMoreShardsThanNamesCanNumber) {
  try {
    MakeShards(folder_.path(), {.examples = 1'000'001, .chunk_rows = 1, .chunks_per_shard = 1});
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("1,000,001 shards, expected at most 1,000,000"));
  }
}

TEST_F(GenerateShardsTest, RejectsMoreChunksThanReadersAccept) {
  try {
    MakeShards(folder_.path(),
               {.examples = kMaxChunks + 1, .chunk_rows = 1, .chunks_per_shard = 1 << 20});
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("16,777,217 chunks, expected at most 16,777,216"));
  }
}

}  // namespace
}  // namespace tandem
