// Beam search by tensor operations, from end to end on a device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "nn/device.h"
#include "nn/inference_net.h"
#include "search/costs.h"
#include "search/goal_ball.h"
#include "search/inverse_frame.h"
#include "search/search.h"
#include "tandem/domain.h"
#include "tensor/tensor_puzzle.h"

namespace tandem {

/// TensorBeamSearch is BeamSearch as a tensor program: states, hashes, estimates, ranks and the
/// history stay on the device. It follows the same rules, with ties decided in the same way: of
/// equal children, and of children with equal ranks, the first counts. So with equal estimates it
/// keeps the same states and finds the same solutions, in as many nodes. It ranks states by path
/// cost and estimate. With search.inverse, the frontier begins with the position and its inverse
/// (InverseFrame), and their states share the width.
///
/// All children are hashed without being made (StateHasher), and those that are new are made a
/// batch of the network at a time. The hashes of kept states are a few sorted tensors, and those of
/// the goal or of the ball around it are one; all are searched by bisection. A child whose hash is
/// there counts as a solution only if its path, replayed on the host, leads to such a state.
///
/// Several times in each depth, the host waits for the device: to learn how many children are known
/// and new, whether one solves the puzzle, and the least estimate. The bytes that search.max_gib
/// limits are those of the tensors.
///
/// Puzzles are solved one after another.
class TensorBeamSearch final : public Search {
 public:
  /// Follows the limits of config.search; the network evaluates at most inference.batch_size states
  /// at once. `domain`, `network` and `device` must outlive this. `ball` may be null. Throws
  /// InputError if the domain is not a TensorPuzzle, if search.beam_width states have more children
  /// than CUDA can sort, or if search.inverse is true and the puzzle has no inverse positions.
  TensorBeamSearch(const Domain& domain, InferenceNet& network, const Config& config,
                   Device& device, std::shared_ptr<const GoalBall> ball = nullptr);

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override;

  std::string Describe() const override;
  std::string_view MainKey() const override { return "search.beam_width"; }
  std::string Failure(const SearchResult& result) const override;

 private:
  // The kept states of one depth.
  struct Frontier {
    at::Tensor states;  // (n, positions), as TensorPuzzle has them
    at::Tensor hashes;  // (n) int64
    at::Tensor
        parent_hashes;      // (n) int64, of the states before on the paths; of the start, its own
    at::Tensor costs;       // (n) double, of the paths
    at::Tensor of_inverse;  // (n) bool, whether the paths begin at the inverse position
  };

  // A path from the position or from its inverse.
  struct Path {
    std::vector<Action> actions;
    bool of_inverse;
  };

  // All children of a frontier. Child i * num_actions + a is the result of action a on state i.
  struct Children {
    at::Tensor hashes;  // int64
    at::Tensor costs;   // double, of the paths
    at::Tensor rest;    // float, the cost-to-go where it is known, else infinity
    at::Tensor useful;  // bool, whether the child is neither its parent nor its parent's parent
  };

  // The state with the least estimate, of those on paths from the position: a child of a state that
  // is `depth` steps from it.
  struct Nearest {
    float estimate;
    std::size_t depth;
    std::int64_t child;
  };

  void MakeKnown();
  SearchResult SolveOne(std::span<const std::uint8_t> start, float at_most, const StopSignal& stop);
  bool Begin(std::span<const std::uint8_t> start);
  std::optional<StopReason> GoDeeper(const StopSignal& within, SearchResult& result,
                                     std::optional<std::vector<Action>>& solution);
  std::optional<StopReason> LimitReached(std::int64_t nodes) const;
  std::int64_t BytesStored() const;
  std::int64_t BytesOfNextDepth() const;
  Children Expand() const;
  std::optional<std::vector<Action>> CheapestSolution(const Children& children) const;
  std::optional<std::vector<Action>> Completed(Path path) const;
  at::Tensor NewChildren(const Children& children);
  at::Tensor Choose(const Children& children, const StopSignal& stop);
  at::Tensor Estimate(const at::Tensor& children, const StopSignal& stop);
  at::Tensor Build(const at::Tensor& children) const;
  void NoteNearest(const at::Tensor& children, const at::Tensor& estimates);
  void Keep(const Children& children, const at::Tensor& chosen);
  void KeepHashes(at::Tensor hashes);
  Path PathTo(std::size_t depth, std::int64_t child) const;
  void FinishResult(SearchResult& result) const;

  const Domain& domain_;
  const SearchConfig config_;
  Device& device_;
  const std::int64_t batch_size_;
  const int threads_;
  InferenceNet& network_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  const std::optional<InverseFrame> inverse_;   // only with search.inverse
  const std::unique_ptr<Stream> stream_;
  const TensorPuzzle puzzle_;
  const StateHasher hasher_;
  const bool costs_differ_;
  const float least_rest_;  // of states of unknown cost
  at::Tensor known_;        // (k) int64, ascending: the hashes of the goal or of the ball
  at::Tensor known_costs_;  // (k) float, the costs-to-go

  // Of the current search.
  CostBound bound_;
  std::vector<std::vector<std::uint8_t>> starts_;  // the position, and its inverse if there is one
  bool excluded_ = false;                          // a child was dropped because of bound_
  bool was_full_ = false;  // a child was dropped because of search.beam_width
  Frontier frontier_;
  std::vector<at::Tensor> kept_;     // int64, each ascending: the hashes of all kept states
  std::int64_t num_kept_ = 0;        // hashes in kept_
  std::vector<at::Tensor> history_;  // history_[d]: the children of depth d that were kept
  std::optional<Nearest> nearest_;
};

}  // namespace tandem
