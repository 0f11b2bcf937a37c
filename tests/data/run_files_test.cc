#include "data/run_files.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(RunFiles, NumbersAreReadBackFromTheNamesThatHaveThem) {
  EXPECT_EQ(kReplayRows.With(12), "replay-12.bin");
  EXPECT_EQ(kReplayRows.NumberIn("replay-12.bin"), 12);
  for (const char* other : {"replay-.bin", "replay-x.bin", "replay--1.bin", "replay-12.pt",
                            "replay-12", "a-replay-12.bin", ""}) {
    EXPECT_EQ(kReplayRows.NumberIn(other), std::nullopt) << other;
  }
  EXPECT_EQ((NumberedName{"a-", "-a"}).NumberIn("a-a"), std::nullopt);
}

TEST(RunFiles, AreKnownByName) {
  for (const char* name :
       {"config.yaml", "metrics.jsonl", "shards.jsonl", "summary.json", "trace.json", "import.json",
        "checkpoint.safetensors", "best.safetensors", "checkpoint-8.safetensors",
        "previous-8.safetensors", "best-8.safetensors", "replay-8.bin"}) {
    EXPECT_TRUE(IsFileOfRun(name)) << name;
  }
  for (const char* name :
       {"", "notes.txt", "solved.jsonl", "checkpoint-copy.safetensors", "best-8.bin",
        "checkpoint.safetensors.17.partial", "events.out.tfevents.1764160000.host"}) {
    EXPECT_FALSE(IsFileOfRun(name)) << name;
  }
}

TEST(RunFiles, CopiesAreKnownByTheirResemblance) {
  for (const char* name :
       {"config.yaml", "checkpoint-8.safetensors", "checkpoint-copy.safetensors",
        "best-old.safetensors", "replay-x.bin", "events.out.tfevents.1764160000.host"}) {
    EXPECT_TRUE(ResemblesFileOfRun(name)) << name;
  }
  for (const char* name : {"", "notes.txt", "solved.jsonl", "checkpoint-8.json", "best-8.bin"}) {
    EXPECT_FALSE(ResemblesFileOfRun(name)) << name;
  }
}

}  // namespace
}  // namespace tandem
