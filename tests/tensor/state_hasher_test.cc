// Tests that hashes of children need no children, and tell states apart.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <set>

#include "support/small_puzzles.h"
#include "tandem/registry.h"
#include "tensor/tensor_puzzle.h"

namespace tandem {
namespace {

TEST(StateHasher, HashesOfChildrenAreThoseOfTheirStates) {
  const auto cube = MakeDomain("cube3");
  const std::unique_ptr<Device> device = OpenDevice("cpu");
  const TensorPuzzle puzzle(*cube, *device, "search.program");
  const StateHasher hasher(dynamic_cast<const PermutationDomain&>(*cube), c10::kCPU);
  at::Tensor states = puzzle.Goals(1);
  for (int depth = 0; depth < 3; ++depth) {
    const at::Tensor children = puzzle.Expand(states);
    EXPECT_TRUE(at::equal(hasher.HashChildren(puzzle.Bytes(states)).flatten(),
                          hasher.HashStates(puzzle.Bytes(children))));
    states = children;
  }
}

TEST(StateHasher, StatesOfASmallPuzzleHaveDifferentHashes) {
  const PancakeDomain pancakes(6);
  const std::unique_ptr<Device> device = OpenDevice("cpu");
  const TensorPuzzle puzzle(pancakes, *device, "search.program");
  const StateHasher hasher(pancakes, c10::kCPU);
  std::set<std::int64_t> hashes;
  for (const auto& [state, distance] : Distances(pancakes)) {
    hashes.insert(
        hasher.HashStates(puzzle.Bytes(puzzle.State(state).value())).item<std::int64_t>());
  }
  EXPECT_EQ(hashes.size(), 720U);
}

}  // namespace
}  // namespace tandem
