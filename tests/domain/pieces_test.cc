// Networks that read the pieces of puzzles of permutations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "base/random.h"
#include "domain/permute.h"
#include "domain/random_walks.h"
#include "support/large_puzzles.h"
#include "support/small_puzzles.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

std::unique_ptr<const Domain> MakeWithPieces(const std::string& text) {
  const TempFolder temp;
  const std::filesystem::path file = temp.path() / "my.yaml";
  std::ofstream(file) << text;
  return MakeDomain("permutation:" + file.string() + ":pieces");
}

std::vector<State> RandomStates(const Domain& domain, std::uint64_t count) {
  std::vector<State> states;
  for (std::uint64_t i = 0; i < count; ++i) {
    states.emplace_back(static_cast<std::size_t>(domain.spec().state_size));
    WalkFromGoal(domain, Random(1, Purpose::kScramble, 0, i), 60, states.back());
  }
  return states;
}

State InputOf(const Domain& domain, const State& state) {
  State input(static_cast<std::size_t>(domain.spec().input.positions));
  domain.Encode(ConstRows(std::span<const std::uint8_t>(state)), Rows(std::span(input)));
  return input;
}

// A file with the permutations of a puzzle that has code.
std::string FileOf(const Domain& domain) {
  const auto& table = dynamic_cast<const PermutationDomain&>(domain).table();
  State goal(table.positions());
  domain.WriteGoals(Rows(std::span(goal)));
  std::string text = "goal: [";
  for (const int label : goal) text += std::to_string(label) + ",";
  text += "]\ngenerators:\n";
  for (std::size_t a = 0; a < table.num_actions(); ++a) {
    text += "  \"" + domain.spec().action_names[a] + "\": [";
    for (const int from : table.sources(static_cast<Action>(a))) text += std::to_string(from) + ",";
    text += "]\n";
  }
  return text;
}

TEST(Pieces, OfACubeInAFileAreThoseOfTheCube) {
  const auto cube = MakeDomain("cube3:pieces");
  const auto file = MakeWithPieces(FileOf(*cube));
  EXPECT_EQ(file->spec().input.positions, cube->spec().input.positions);
  EXPECT_EQ(file->spec().input.depth, cube->spec().input.depth);
  // Only the numbers of pieces and places differ: each place of one is a place of the other if
  // numbers match one to one.
  using Names = std::map<std::uint8_t, std::uint8_t>;
  std::map<std::pair<std::size_t, std::size_t>, Names> names;
  for (const State& state : RandomStates(*cube, 1000)) {
    const State a = InputOf(*file, state);
    const State b = InputOf(*cube, state);
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size(); ++j) {
        Names& of_pair = names[{i, j}];
        const auto [known, is_new] = of_pair.try_emplace(a[i], b[j]);
        if (known->second != b[j]) of_pair[255] = 255;  // no match
      }
    }
  }
  for (std::size_t i = 0; i < 20; ++i) {
    std::size_t matches = 0;
    for (std::size_t j = 0; j < 20; ++j) {
      std::set<std::uint8_t> images;
      for (const auto& [from, to] : names[{i, j}]) images.insert(to);
      if (images.size() == 24 && !names[{i, j}].contains(255)) ++matches;
    }
    EXPECT_EQ(matches, 1U) << "place " << i;
  }
}

TEST(Pieces, AreFoundInPuzzlesWithoutCode) {
  const auto megaminx = MakeDomain("permutation:megaminx:pieces");
  EXPECT_EQ(megaminx->spec().input.positions, 20 + 30);
  EXPECT_EQ(megaminx->spec().input.depth, 60);  // 20 corners in 3 ways, or 30 edges in 2
  const auto cube4 = MakeDomain("permutation:cube4:pieces");
  EXPECT_EQ(cube4->spec().input.positions, 7 + 24 + 24);  // a corner stays, and centres are single
  EXPECT_EQ(cube4->spec().input.depth, 24);
  // Opposite centres of faces also move together.
  EXPECT_EQ(MakeWithPieces(CubeFile(7))->spec().input.positions, 8 + 12 + 48 + 144 + 3);
}

TEST(Pieces, TellStatesApart) {
  for (const char* name : {"permutation:megaminx:pieces", "permutation:pyraminx:pieces"}) {
    const auto puzzle = MakeDomain(name);
    std::map<State, State, ByBytes> states;
    for (const State& state : RandomStates(*puzzle, 1000)) {
      const auto [known, is_new] = states.try_emplace(InputOf(*puzzle, state), state);
      EXPECT_EQ(known->second, state) << name;
    }
  }
}

TEST(Pieces, NetworkThatReadsThemBelongsToAnotherPuzzle) {
  EXPECT_NE(MakeDomain("permutation:megaminx:pieces")->spec().version,
            MakeDomain("permutation:megaminx")->spec().version);
}

TEST(Pieces, AreRefusedIfEachIsASinglePosition) {
  EXPECT_THAT([] { MakeDomain("permutation:lrx:pieces"); },
              testing::ThrowsMessage<InputError>(testing::StartsWith(
                  "lrx:pieces: no two positions always move together, so there are no pieces")));
}

}  // namespace
}  // namespace tandem
