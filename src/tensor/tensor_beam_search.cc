#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "base/text.h"
#include "nn/threads.h"
#include "search/costs.h"
#include "search/evaluation.h"
#include "search/inverse_frame.h"
#include "search/loops.h"
#include "tensor/tensor_programs.h"
#include "tensor/tensor_puzzle.h"

namespace tandem {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The most elements that CUDA can sort, and among which it can find those that are true.
constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

// Sorts a tensor of one dimension in ascending order. Equal elements keep their order. Returns the
// elements and their indices.
std::tuple<at::Tensor, at::Tensor> Sorted(const at::Tensor& tensor) {
  return tensor.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
}

// Returns where each hash is, or would be, in `sorted`, which is not empty: always a valid index.
at::Tensor PlacesIn(const at::Tensor& sorted, const at::Tensor& hashes) {
  return at::searchsorted(sorted, hashes).clamp_max(sorted.size(0) - 1);
}

at::Tensor Contains(const at::Tensor& sorted, const at::Tensor& hashes) {
  return sorted.index_select(0, PlacesIn(sorted, hashes)) == hashes;
}

// Returns the indices of the elements that are true, in ascending order. Waits for the device.
at::Tensor IndicesOf(const at::Tensor& mask) { return mask.nonzero().squeeze(1); }

class TensorBeamSearch final : public Search {
 public:
  TensorBeamSearch(const Domain& domain, InferenceNet& network, const Config& config,
                   Device& device, std::shared_ptr<const GoalBall> ball)
      : domain_(domain),
        config_(config.search),
        device_(device),
        batch_size_(config.inference.rows_at_once()),
        threads_(static_cast<int>(*config.inference.threads)),
        network_(network),
        ball_(std::move(ball)),
        inverse_(MakeInverseFrame(domain, config.search)),
        stream_(device.MakeStream()),
        puzzle_(domain, device, "search.program"),
        hasher_(dynamic_cast<const PermutationDomain&>(domain), device.torch()),
        costs_differ_(CostsDiffer(domain.spec())),
        least_rest_(
            std::max(ball_ != nullptr ? ball_->least_cost_outside() : 0, LeastCost(domain.spec()))),
        bound_(0) {
    CheckBeamWidth(domain.spec(), config_.beam_width, "search.beam_width", kMostElements);
    MakeKnown();
    device.Synchronize();  // the tables were made on another stream than that of the searches
  }

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      done(i, SolveOne(problems.states[i], problems.AtMost(i, config_.at_most), stop));
    }
  }

  std::string Describe() const override {
    return fmt::format("beam search with width {} by tensor operations{}",
                       WithThousands(config_.beam_width),
                       inverse_ ? " from the position and its inverse" : "");
  }

  std::string_view MainKey() const override { return "search.beam_width"; }

  std::string Failure(const SearchResult& result) const override {
    return BeamFailure(config_, result);
  }

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

  // Fills in the hashes and costs of the goal or of the ball.
  void MakeKnown() {
    const auto size = static_cast<std::int64_t>(ball_ != nullptr ? ball_->size() : 1);
    const auto row = static_cast<std::size_t>(domain_.spec().state_size);
    const at::Tensor states =
        at::empty({size, domain_.spec().state_size}, at::TensorOptions().dtype(at::kByte));
    const at::Tensor costs = at::zeros({size}, at::TensorOptions().dtype(at::kFloat));
    const Rows rows(states.mutable_data_ptr<std::uint8_t>(), static_cast<std::size_t>(size), row);
    if (ball_ == nullptr) {
      domain_.WriteGoals(rows);
    } else {
      auto* const all_costs = costs.mutable_data_ptr<float>();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::ranges::copy(ball_->state(i), rows[i].begin());
        all_costs[i] = ball_->cost(i);
      }
    }
    at::Tensor order;
    std::tie(known_, order) = Sorted(hasher_.HashStates(states.to(puzzle_.device())));
    known_costs_ = costs.to(puzzle_.device()).index_select(0, order);
  }

  SearchResult SolveOne(std::span<const std::uint8_t> start, float at_most,
                        const StopSignal& stop) {
    const Stopwatch watch;
    const c10::InferenceMode inference;
    const ScopedThreads threads(threads_);
    const std::unique_ptr<StreamScope> scope = stream_->Enter();
    bound_ = CostBound(at_most);
    SearchResult result;
    const std::optional<StopReason> limit =
        Begin(start) ? std::nullopt : std::optional(StopReason::kExhausted);
    SolveDepthByDepth(KnownSolution(domain_, ball_.get(), bound_, config_.max_length, start), limit,
                      config_.max_seconds, stop, result,
                      [&](const StopSignal& within, std::optional<std::vector<Action>>& solution) {
                        return GoDeeper(within, result, solution);
                      });
    FinishResult(result);
    result.seconds = watch.Seconds();
    return result;
  }

  // Expands the frontier, and makes the best children the next one unless one of them completes a
  // `solution`. Returns the limit that it met, if any.
  std::optional<StopReason> GoDeeper(const StopSignal& within, SearchResult& result,
                                     std::optional<std::vector<Action>>& solution) {
    if (const std::optional<StopReason> limit = LimitReached(result.nodes)) return limit;
    const Children children = Expand();
    const auto generated = children.useful.sum().item<std::int64_t>();
    if (WorkLimitExceeded(config_, result.nodes + generated, 0)) return StopReason::kNodeLimit;
    result.nodes += generated;
    result.expanded += frontier_.hashes.size(0);
    solution = CheapestSolution(children);
    if (!solution) Keep(children, Choose(children, within));
    return std::nullopt;
  }

  // Makes the start, and its inverse if there is another one, the frontier. Returns false if no
  // moves lead from the goal to the start.
  bool Begin(std::span<const std::uint8_t> start) {
    history_.clear();
    nearest_.reset();
    excluded_ = false;
    was_full_ = false;
    frontier_ = {};
    kept_.clear();
    num_kept_ = 0;
    starts_ = {{start.begin(), start.end()}};
    if (inverse_) {
      const auto inverse = inverse_->Invert(start);
      if (inverse && *inverse != starts_.front()) starts_.push_back(*inverse);
    }
    std::vector<at::Tensor> states;
    for (const std::vector<std::uint8_t>& of : starts_) {
      const std::optional<at::Tensor> state = puzzle_.State(of);
      if (!state) return false;
      states.push_back(*state);
    }
    frontier_.states = at::cat(states);
    frontier_.hashes = hasher_.HashStates(puzzle_.Bytes(frontier_.states));
    frontier_.parent_hashes = frontier_.hashes;
    frontier_.costs = at::zeros({std::ssize(states)}, known_costs_.options().dtype(at::kDouble));
    frontier_.of_inverse = at::arange(std::ssize(states), frontier_.hashes.options()) == 1;
    KeepHashes(frontier_.hashes);
    return true;
  }

  std::optional<StopReason> LimitReached(std::int64_t nodes) const {
    const std::int64_t states = frontier_.hashes.size(0);
    if (states == 0) return excluded_ ? StopReason::kCostLimit : StopReason::kExhausted;
    if (std::cmp_greater_equal(history_.size(), config_.max_length)) {
      return StopReason::kLengthLimit;
    }
    if (num_kept_ + config_.beam_width > kMostElements) {
      throw Error(fmt::format(
          "the beam has kept {} states, and the next depth could exceed the {} that CUDA can sort; "
          "lower search.beam_width ({}) or search.max_length ({})",
          WithThousands(num_kept_), WithThousands(kMostElements), config_.beam_width,
          config_.max_length));
    }
    return WorkLimitExceeded(config_, nodes, BytesOfNextDepth());
  }

  // The memory of the kept states: hashes, places in the history, and the frontier.
  std::int64_t BytesStored() const {
    constexpr std::int64_t kBytesPerKept = 2 * sizeof(std::int64_t);
    constexpr std::int64_t kBytesPerFrontierState = 2 * sizeof(std::int64_t) + sizeof(double);
    const std::int64_t frontier = frontier_.hashes.defined() ? frontier_.hashes.size(0) : 0;
    return num_kept_ * kBytesPerKept +
           frontier * (kBytesPerFrontierState + domain_.spec().state_size);
  }

  // About the greatest memory while the children of the frontier are made and chosen from.
  std::int64_t BytesOfNextDepth() const {
    // For each child: its hash, two costs, its place in a table, its rank, and copies of its hash,
    // its rank and its index while they are sorted.
    constexpr std::int64_t kBytesPerChild = 64;
    constexpr std::int64_t kBytesPerSortedHash = 3 * sizeof(std::int64_t);  // of a kept state
    const std::int64_t children = frontier_.hashes.size(0) * puzzle_.num_actions();
    const std::int64_t next = std::min(children, config_.beam_width);
    return BytesStored() + children * kBytesPerChild + (num_kept_ + next) * kBytesPerSortedHash +
           next * domain_.spec().state_size;
  }

  Children Expand() const {
    const at::Tensor hashes = hasher_.HashChildren(puzzle_.Bytes(frontier_.states));
    const at::Tensor action_costs = puzzle_.ActionCosts();
    Children children{.hashes = hashes.flatten(),
                      .costs = (frontier_.costs.unsqueeze(1) + action_costs).flatten(),
                      .useful = (hashes != frontier_.hashes.unsqueeze(1))
                                    .logical_and(hashes != frontier_.parent_hashes.unsqueeze(1))
                                    .flatten()};
    const at::Tensor places = PlacesIn(known_, children.hashes);
    const at::Tensor is_known =
        (known_.index_select(0, places) == children.hashes).logical_and(children.useful);
    children.rest =
        known_costs_.index_select(0, places).masked_fill(is_known.logical_not(), kInfinity);
    return children;
  }

  // The cheapest solution through a child whose cost-to-go is known; ties go to the lower index. A
  // solution longer than search.max_length, because of its path from the ball to the goal, does not
  // count. Nor does a child whose hash only collides with a known one.
  std::optional<std::vector<Action>> CheapestSolution(const Children& children) const {
    const at::Tensor totals = children.costs + children.rest;
    const at::Tensor found = IndicesOf(totals.isfinite().logical_and(totals <= bound_.most()));
    if (found.size(0) == 0) return std::nullopt;
    const at::Tensor order = std::get<1>(Sorted(totals.index_select(0, found)));
    const at::Tensor cheapest_first = found.index_select(0, order).cpu();
    const auto* const child = cheapest_first.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < cheapest_first.size(0); ++i) {
      auto solution = Completed(PathTo(history_.size(), child[i]));
      if (solution) return solution;
    }
    return std::nullopt;
  }

  // The solution that begins with a path to a state whose cost-to-go is known.
  std::optional<std::vector<Action>> Completed(Path path) const {
    std::vector<std::uint8_t> state = starts_[path.of_inverse ? 1 : 0];
    ApplyAll(domain_, path.actions, state);
    const std::optional<std::vector<Action>> rest =
        KnownSolution(domain_, ball_.get(), CostBound(0), config_.max_length, state);
    if (!rest) return std::nullopt;
    std::ranges::copy(*rest, std::back_inserter(path.actions));
    if (std::cmp_greater(path.actions.size(), config_.max_length)) return std::nullopt;
    return path.of_inverse ? inverse_->Translate(path.actions) : path.actions;
  }

  // The children whose states were not kept before, in ascending order. Of equal children only the
  // cheapest is included, on ties the first.
  at::Tensor NewChildren(const Children& children) {
    at::Tensor usable = children.useful;
    if (bound_.is_limited()) {
      const at::Tensor rest =
          children.rest.masked_fill(children.rest.isfinite().logical_not(), least_rest_);
      const at::Tensor excluded = usable.logical_and(children.costs + rest > bound_.most());
      excluded_ = excluded_ || excluded.any().item<bool>();
      usable = usable.logical_and(excluded.logical_not());
    }
    for (const at::Tensor& kept : kept_) {
      usable = usable.logical_and(Contains(kept, children.hashes).logical_not());
    }
    at::Tensor candidates = IndicesOf(usable);
    if (costs_differ_) {
      const at::Tensor order = std::get<1>(Sorted(children.costs.index_select(0, candidates)));
      candidates = candidates.index_select(0, order);
    }
    if (candidates.size(0) == 0) return candidates;
    const auto [hashes, order] = Sorted(children.hashes.index_select(0, candidates));
    const std::int64_t others = hashes.size(0) - 1;
    const at::Tensor differs = hashes.narrow(0, 1, others) != hashes.narrow(0, 0, others);
    const at::Tensor is_first = at::cat({at::ones({1}, differs.options()), differs});
    const at::Tensor first = candidates.index_select(0, order.index_select(0, IndicesOf(is_first)));
    return std::get<0>(Sorted(first));
  }

  // The new children with the least sum of path cost and estimate, in ascending order.
  at::Tensor Choose(const Children& children, const StopSignal& stop) {
    at::Tensor fresh = NewChildren(children);
    if (fresh.size(0) <= config_.beam_width) return fresh;
    was_full_ = true;
    const at::Tensor estimates = Estimate(fresh, stop);
    const at::Tensor parents = fresh.floor_divide(puzzle_.num_actions());
    const at::Tensor actions = fresh.remainder(puzzle_.num_actions());
    const at::Tensor excess = (frontier_.costs - frontier_.costs.min()).to(at::kFloat);
    const at::Tensor more = puzzle_.ActionCosts() - LeastCost(domain_.spec());
    const at::Tensor ranks =
        estimates + excess.index_select(0, parents) + more.index_select(0, actions);
    const at::Tensor best = std::get<1>(Sorted(ranks)).narrow(0, 0, config_.beam_width);
    const at::Tensor chosen = std::get<0>(Sorted(best));  // indices into `fresh`
    at::Tensor kept = fresh.index_select(0, chosen);
    NoteNearest(kept, estimates.index_select(0, chosen));
    return kept;
  }

  // The moves of a partial path of the inverse position do nothing useful in the position itself.
  void NoteNearest(const at::Tensor& children, const at::Tensor& estimates) {
    const at::Tensor parents = children.floor_divide(puzzle_.num_actions());
    const at::Tensor of_position =
        estimates.masked_fill(frontier_.of_inverse.index_select(0, parents), kInfinity);
    const at::Tensor least = of_position.argmin();
    const auto estimate = of_position.index_select(0, least).item<float>();
    if (std::isinf(estimate) || (nearest_ && estimate >= nearest_->estimate)) return;
    nearest_ = {.estimate = estimate,
                .depth = history_.size(),
                .child = children.index_select(0, least).item<std::int64_t>()};
  }

  // Makes, encodes and evaluates the children a batch at a time, so that their states take little
  // memory. Enqueues work at most one batch ahead of a GPU, so that it notices a stop soon.
  at::Tensor Estimate(const at::Tensor& children, const StopSignal& stop) {
    std::vector<at::Tensor> parts;
    std::unique_ptr<DeviceEvent> last_batch;
    for (std::int64_t first = 0; first < children.size(0); first += batch_size_) {
      if (stop.Reached()) throw Stopped();
      const std::int64_t count = std::min(batch_size_, children.size(0) - first);
      parts.push_back(
          network_.EstimateBatches(puzzle_.Encode(Build(children.narrow(0, first, count)))));
      std::unique_ptr<DeviceEvent> batch = device_.RecordEvent();
      if (last_batch != nullptr) last_batch->Await();
      last_batch = std::move(batch);
    }
    at::Tensor estimates = at::cat(parts);
    const at::Tensor invalid = estimates.isnan();
    if (!invalid.any().item<bool>()) return estimates;
    const at::Tensor child = children.index_select(0, IndicesOf(invalid).narrow(0, 0, 1));
    const at::Tensor bytes = puzzle_.Bytes(Build(child)).cpu();
    throw NanEstimate(
        domain_, {bytes.const_data_ptr<std::uint8_t>(), static_cast<std::size_t>(bytes.numel())});
  }

  // The states of children.
  at::Tensor Build(const at::Tensor& children) const {
    const at::Tensor parents = children.floor_divide(puzzle_.num_actions());
    const at::Tensor actions = children.remainder(puzzle_.num_actions());
    return puzzle_.Apply(frontier_.states.index_select(0, parents), actions);
  }

  // Makes the chosen children the frontier.
  void Keep(const Children& children, const at::Tensor& chosen) {
    history_.push_back(chosen);
    const at::Tensor parents = chosen.floor_divide(puzzle_.num_actions());
    frontier_ = {.states = Build(chosen),
                 .hashes = children.hashes.index_select(0, chosen),
                 .parent_hashes = frontier_.hashes.index_select(0, parents),
                 .costs = children.costs.index_select(0, chosen),
                 .of_inverse = frontier_.of_inverse.index_select(0, parents)};
    KeepHashes(frontier_.hashes);
  }

  // Adds hashes to kept_. Sorts them together with the tensors that are not larger, so that there
  // are few tensors, and each hash is sorted again only when its tensor at least doubles.
  void KeepHashes(at::Tensor hashes) {
    if (hashes.size(0) == 0) return;
    num_kept_ += hashes.size(0);
    std::vector<at::Tensor> together = {std::move(hashes)};
    for (std::int64_t size = together.front().size(0);
         !kept_.empty() && kept_.back().size(0) <= size; kept_.pop_back()) {
      size += kept_.back().size(0);
      together.push_back(kept_.back());
    }
    kept_.push_back(std::get<0>(Sorted(at::cat(together))));
  }

  // The path to a child of a state that was kept at `depth`.
  Path PathTo(std::size_t depth, std::int64_t child) const {
    const std::int64_t num_actions = puzzle_.num_actions();
    std::vector<Action> actions = {static_cast<Action>(child % num_actions)};
    while (depth-- > 0) {
      child = history_[depth][child / num_actions].item<std::int64_t>();
      actions.push_back(static_cast<Action>(child % num_actions));
    }
    std::ranges::reverse(actions);
    return {.actions = std::move(actions), .of_inverse = child / num_actions == 1};
  }

  // Fills in the fields of `result` that follow from how the search ended.
  void FinishResult(SearchResult& result) const {
    result.stored = num_kept_;
    result.bytes = BytesStored();
    result.dropped_states = was_full_;
    const auto path_to = [&](const NearestChild& nearest) {
      return PathTo(nearest.depth, nearest.child).actions;
    };
    FinishBeam(domain_.spec(), nearest_, path_to, result);
  }

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
  std::optional<NearestChild> nearest_;
};

}  // namespace

std::unique_ptr<Search> MakeTensorBeamSearch(const Domain& domain, InferenceNet& network,
                                             const Config& config, Device& device,
                                             std::shared_ptr<const GoalBall> ball) {
  return std::make_unique<TensorBeamSearch>(domain, network, config, device, std::move(ball));
}

}  // namespace tandem
