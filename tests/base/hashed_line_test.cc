#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;

TEST(HashedLine, HashIsTheLastEntry) {
  const std::string line = WithHash({{"update", 3}, {"loss", 0.25}});
  const auto parsed = ordered_json::parse(line);
  EXPECT_EQ(parsed.size(), 3U);
  EXPECT_EQ(parsed["loss"], 0.25);
  EXPECT_EQ(std::prev(parsed.end()).key(), kLineHash);
  EXPECT_FALSE(IsDamaged(line));
}

TEST(HashedLine, AnEntryThatIsAddedGetsANewHash) {
  auto line = ordered_json::parse(WithHash({{"update", 3}}));
  line["solve_rate"] = 0.5;
  EXPECT_EQ(WithHash(line), WithHash({{"update", 3}, {"solve_rate", 0.5}}));
}

TEST(HashedLine, EveryFlippedBitThatLeavesJsonIsFound) {
  const std::string line = WithHash({{"update", 3}, {"loss", 0.25}, {"phase", "first"}});
  int found = 0;
  for (std::size_t bit = 0; bit < 8 * line.size(); ++bit) {
    std::string flipped = line;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    if (!ordered_json::accept(flipped)) continue;
    EXPECT_TRUE(IsDamaged(flipped)) << flipped;
    ++found;
  }
  EXPECT_GT(found, 100);
}

TEST(HashedLine, AHashThatIsCutOrFollowedBySomethingIsFound) {
  const std::string line = WithHash({{"update", 3}, {"loss", 0.25}});
  std::string shorter = line;
  shorter.erase(line.size() - 5, 1);
  for (const std::string& changed : {shorter, line + " ", line + "\r", line + "{}"}) {
    EXPECT_TRUE(IsDamaged(changed)) << changed;
  }
}

TEST(HashedLine, LinesWithoutAHashAreNotDamaged) {
  EXPECT_FALSE(IsDamaged(""));
  EXPECT_FALSE(IsDamaged(R"({"update":3})"));
  EXPECT_FALSE(IsDamaged(ordered_json{{"update", 3}, {"name", std::string(60, 'x')}}.dump()));
}

}  // namespace
}  // namespace tandem
