// Beam search guided by a learned cost-to-go, and beam search that widens its beam while time
// remains.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "base/text.h"
#include "search/beam_meeting.h"
#include "search/beam_ranking.h"
#include "search/costs.h"
#include "search/expander.h"
#include "search/goal_ball.h"
#include "search/hash_set.h"
#include "search/inverse_frame.h"
#include "search/loops.h"
#include "search/search.h"

namespace tandem {
namespace {

// The bytes that a hash takes in a table. Up to half of a table's places are empty.
constexpr std::size_t kBytesPerEntry = 2 * (sizeof(std::uint64_t) + 1);

// Look-ups miss the cache. Prefetching this many children ahead hides the latency.
constexpr std::ptrdiff_t kPrefetchDistance = 16;

// Distinguishes the states of the inverse position's beam among the kept ones.
constexpr std::uint64_t kInverseSalt = 0x9E3779B97F4A7C15U;

// BeamSearch expands all kept states of one depth and keeps the search.beam_width children with
// the least sum of path cost and estimated cost-to-go. It drops duplicates, states kept at an
// earlier depth, children equal to their parent, and those of the action that undoes the last one.
// It ends at the first depth that has a goal and returns the cheapest goal of that depth. States
// of a ball around the goal count as goals: the search ends about as many depths earlier as the
// ball has. States are compared by 64-bit hashes: with a million states kept, the chance that any
// two collide is about 3e-8.
//
// A Q net ranks the children by the Q values of the actions that lead to them, in one evaluation
// for each kept state instead of each child. At the same cost, the beam can be wider by about the
// number of actions.
//
// A policy ranks the children by the probability of the whole path and takes no account of costs,
// as EfficientCube does (Takano, "Self-Supervision is All You Need for Solving Rubik's Cube", TMLR
// 2023). Unlike EfficientCube, the search also drops duplicates. A policy has no estimates, so a
// search without a solution reports no best path. With search.policy_actions, it expands only that
// many of the most probable actions of a state, and those that complete a solution.
//
// Head vp ranks the children by cost and estimate. With search.policy_weight, it adds that weight
// times minus the log probability of the path, as in policy-guided heuristic search (Orseau and
// Lelis, AAAI 2021). search.policy_actions works as with a policy (as in DeepXube's beam_v_p). The
// two keys together take one more evaluation per kept state.
//
// Hashes come first: of a permutation puzzle, only children that are new are built, encoded and
// evaluated. With a Q net or a policy, only kept children are built (Expander::ExpandHashes).
//
// With search.inverse, the beam starts from the position and from its inverse (InverseFrame),
// whose children compete for the same places. The first solution of either ends the search.
//
// With search.method bidirectional_beam, the two beams meet in the middle. The moves from the
// inverse of the start to a state lead from the goal to a position, and the state's cost-to-go is
// the cost between that position and the start. So the beam of the inverse position is a search
// from the goal, which the same network guides. The search ends when a kept position of one beam
// equals one of the other, and the cheapest such pair of paths is the solution. If the beams hold
// all states and all actions cost the same, it is a shortest one.
//
// Puzzles are solved one after another.
class BeamSearch final : public Search {
 public:
  // Any Evaluator can be the network. Throws InputError as MakeInverseFrame does.
  BeamSearch(const Domain& domain, Evaluator& network, const Config& config,
             std::shared_ptr<const GoalBall> ball)
      : domain_(domain),
        config_(config.search),
        ball_(std::move(ball)),
        inverse_(MakeInverseFrame(domain, config.search)),
        costs_differ_(CostsDiffer(domain.spec())),
        bound_(0),
        expander_(domain, ball_),
        ranking_(domain, network, config) {
    if (config_.method == SearchMethod::kBidirectionalBeam) meeting_.emplace(domain, *inverse_);
    CheckBeamWidth(domain.spec(), config_.beam_width, "search.beam_width");
  }

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      SearchConfig limits = config_;
      limits.at_most = problems.AtMost(i, config_.at_most);
      done(i, SolveWithin(limits, problems.states[i], stop));
    }
  }

  // Searches for a solution of `start` with the limits in `limits` on width, length, cost, time,
  // nodes and memory in place of those of the config. The beam must not be wider.
  SearchResult SolveWithin(const SearchConfig& limits, std::span<const std::uint8_t> start,
                           const StopSignal& stop) {
    const Stopwatch watch;
    limits_ = limits;
    bound_ = CostBound(limits.at_most);
    Begin(start);
    ranking_.Begin(states().size());
    SearchResult result;
    SolveDepthByDepth(KnownSolution(domain_, ball_.get(), bound_, limits_.max_length, start),
                      /*limit=*/std::nullopt, limits_.max_seconds, stop, result,
                      [&](const StopSignal& within, std::optional<std::vector<Action>>& solution) {
                        return GoDeeper(within, result, solution);
                      });
    FinishResult(result);
    result.seconds = watch.Seconds();
    return result;
  }

  // Whether the last search kept every new state, so that a wider beam would find nothing else.
  bool kept_all() const { return kept_all_; }

  std::string Describe() const override {
    return fmt::format("{}beam search with width {}{}", meeting_ ? "bidirectional " : "",
                       WithThousands(config_.beam_width),
                       inverse_ && !meeting_ ? " from the position and its inverse" : "");
  }

  std::string_view MainKey() const override { return "search.beam_width"; }
  std::string Failure(const SearchResult& result) const override {
    return BeamFailure(config_, result);
  }

 private:
  using Step = BeamPaths::Step;

  // A position may be its own inverse. If the beams meet, both are needed nevertheless.
  void Begin(std::span<const std::uint8_t> start) {
    paths_.Clear();
    if (meeting_) meeting_->Clear();
    kept_.Clear();
    nearest_.reset();
    excluded_ = false;
    kept_all_ = true;
    frontier_.states.assign(start.begin(), start.end());
    frontier_.costs = {0};
    frontier_.least_cost = 0;
    frontier_.of_inverse.clear();
    kept_.Insert(HashState(start));
    if (!inverse_) return;
    const std::optional<std::vector<std::uint8_t>> inverse = inverse_->Invert(start);
    if (!inverse || !kept_.Insert(HashState(*inverse) ^ (meeting_ ? kInverseSalt : 0))) return;
    frontier_.states.insert(frontier_.states.end(), inverse->begin(), inverse->end());
    frontier_.costs.push_back(0);
    frontier_.of_inverse = {0, 1};
    if (meeting_) meeting_->Begin(start, limits_.max_length);
  }

  // Expands the frontier, and makes the best children the next one unless one of them completes a
  // `solution`. Returns the limit that it met, if any.
  std::optional<StopReason> GoDeeper(const StopSignal& within, SearchResult& result,
                                     std::optional<std::vector<Action>>& solution) {
    if (const std::optional<StopReason> limit = LimitReached(result.nodes)) return limit;
    expander_.ExpandHashes(states(), UndoingActions());
    ranking_.FollowPolicy(states(), expander_, within);
    if (WorkLimitExceeded(limits_, result.nodes + expander_.num_generated(), 0)) {
      return StopReason::kNodeLimit;
    }
    result.nodes += expander_.num_generated();
    result.expanded += static_cast<std::int64_t>(states().size());
    solution = CheapestSolution();
    if (solution) return std::nullopt;
    Keep(ranking_.ranks_states() ? ChooseByStates(within, next_.states)
                                 : ChooseByActions(within, next_.states));
    if (meeting_) solution = meeting_->CheapestSolution(paths_, bound_);
    return std::nullopt;
  }

  std::optional<StopReason> LimitReached(std::int64_t nodes) const {
    if (frontier_.states.empty()) {
      return excluded_ ? StopReason::kCostLimit : StopReason::kExhausted;
    }
    if (std::cmp_greater_equal(paths_.depth(), limits_.max_length)) return StopReason::kLengthLimit;
    return WorkLimitExceeded(limits_, nodes, BytesOfNextDepth());
  }

  // The memory of the states kept so far, once `more` others are kept.
  std::int64_t BytesStored(std::size_t more = 0) const {
    std::size_t bytes =
        kept_.BytesWith(more) + (kept_.size() + more) * sizeof(Step) + frontier_.states.size();
    if (meeting_) bytes += meeting_->BytesWith(more);
    return static_cast<std::int64_t>(bytes);
  }

  // About the greatest memory while the children of the frontier are made and chosen from. Their
  // states are there once if they are kept, and once to be evaluated if they are ranked by them.
  std::int64_t BytesOfNextDepth() const {
    const DomainSpec& spec = domain_.spec();
    const auto parents = static_cast<std::int64_t>(frontier_.costs.size());
    const std::int64_t children = parents * spec.num_actions();
    const std::int64_t kept = std::min(children, limits_.beam_width);
    // For each child: its estimate, its surprisal, its rank, its place in the order and among the
    // new ones, and its hash among those seen at this depth.
    constexpr std::int64_t kBytesPerChild = 2 * sizeof(float) + sizeof(BeamRanking::Ranked) +
                                            2 * sizeof(std::uint32_t) + kBytesPerEntry;
    // Expander::BytesFor counts the states of all children once.
    const std::int64_t states =
        (expander_.keeps_children() ? 1 : 0) + (ranking_.ranks_states() ? 1 : 0);
    return BytesStored(static_cast<std::size_t>(kept)) + Expander::BytesFor(spec, parents) +
           children * (kBytesPerChild + (states - 1) * spec.state_size) + kept * spec.state_size;
  }

  // For each state of the frontier, the action that undoes the last one of its path. Empty if there
  // is no last action, or if actions have no inverses.
  std::vector<Action> UndoingActions() const {
    const std::vector<Action>& inverses = domain_.spec().inverse_actions;
    if (inverses.empty()) return {};
    std::vector<Action> undoing;
    undoing.reserve(paths_.last_steps().size());
    for (const Step step : paths_.last_steps()) undoing.push_back(inverses[step.action]);
    return undoing;
  }

  // The cheapest solution within search.max_length through a child whose cost-to-go is known.
  std::optional<std::vector<Action>> CheapestSolution() const {
    const std::int64_t most_actions =
        limits_.max_length - static_cast<std::int64_t>(paths_.depth()) - 1;
    const std::optional<std::size_t> cheapest = expander_.CheapestKnown(
        0, expander_.size(), [&](std::size_t child) { return CostTo(child); }, bound_,
        most_actions);
    if (!cheapest) return std::nullopt;
    std::vector<Action> actions = paths_.PathBy(StepTo(*cheapest), paths_.depth());
    std::ranges::copy(expander_.PathToGoal(*cheapest), std::back_inserter(actions));
    return OfInverse(StepTo(*cheapest).parent) ? inverse_->Translate(actions) : actions;
  }

  // The children whose states were not kept before, in ascending order. Of equal children only the
  // cheapest is included, on ties the first.
  std::vector<std::uint32_t> NewChildren() {
    std::vector<std::uint32_t> order(expander_.size());
    std::iota(order.begin(), order.end(), 0U);
    if (costs_differ_) {
      std::ranges::stable_sort(order, {}, [&](std::uint32_t child) { return CostTo(child); });
    }
    seen_.Clear();
    seen_.Reserve(order.size());
    const std::span<const std::uint64_t> hashes = expander_.hashes();
    std::vector<std::uint32_t> fresh;
    fresh.reserve(order.size());
    for (auto at = order.begin(); at != order.end(); ++at) {
      if (order.end() - at > kPrefetchDistance) {
        kept_.Prefetch(hashes[at[kPrefetchDistance]]);
        seen_.Prefetch(hashes[at[kPrefetchDistance]]);
      }
      const std::uint32_t child = *at;
      if (expander_.is_left_out()[child] != 0 || IsExcluded(child)) continue;
      const std::uint64_t key = SaltedHash(child);
      if (kept_.Contains(key) || !seen_.Insert(key)) continue;
      fresh.push_back(child);
    }
    if (costs_differ_) std::ranges::sort(fresh);
    return fresh;
  }

  // The best new children by the estimates of their states, which it writes to `into`. If all new
  // children fit into the beam, none is evaluated.
  std::vector<std::uint32_t> ChooseByStates(const StopSignal& stop,
                                            std::vector<std::uint8_t>& into) {
    const auto width = static_cast<std::size_t>(limits_.beam_width);
    std::vector<std::uint32_t> children = NewChildren();
    if (children.size() <= width) {
      expander_.Build(children, into);
      return children;
    }
    kept_all_ = false;
    const ConstRows built = expander_.Build(children, built_);
    std::vector<std::uint32_t> chosen;
    chosen.reserve(width);
    into.clear();
    for (const auto& [rank, i] : ranking_.RankStates(frontier_, children, built, width, stop)) {
      NoteEstimate(children[i], ranking_.EstimateOf(i));
      chosen.push_back(children[i]);
      into.insert(into.end(), built[i].begin(), built[i].end());
    }
    return chosen;
  }

  // The best new children by the values of the actions that lead to them. Writes their states to
  // `into`. Takes as many as are still needed again and again, because some are duplicates.
  std::vector<std::uint32_t> ChooseByActions(const StopSignal& stop,
                                             std::vector<std::uint8_t>& into) {
    const auto width = static_cast<std::size_t>(limits_.beam_width);
    ranking_.RankActions(frontier_, states(), expander_, stop);
    std::vector<std::uint32_t> chosen;
    bool took_all = true;
    while (chosen.size() < width && ranking_.num_remaining() > 0) {
      if (stop.Reached()) throw Stopped();
      took_all = TakeNew(ranking_.NextBest(width - chosen.size()), chosen);
    }
    if (!took_all || ranking_.num_remaining() > 0) kept_all_ = false;
    std::ranges::sort(chosen);
    expander_.Build(chosen, into);
    return chosen;
  }

  // Appends those of the `best` children that are new to `chosen`, until the beam is full. Returns
  // false if it was full before the last child.
  bool TakeNew(std::span<const BeamRanking::Ranked> best, std::vector<std::uint32_t>& chosen) {
    const auto width = static_cast<std::size_t>(limits_.beam_width);
    auto at = best.begin();
    for (; at != best.end() && chosen.size() < width; ++at) {
      if (best.end() - at > kPrefetchDistance) {
        kept_.Prefetch(expander_.hashes()[at[kPrefetchDistance].second]);
      }
      const std::uint32_t child = at->second;
      if (IsExcluded(child) || !kept_.Insert(SaltedHash(child))) continue;
      chosen.push_back(child);
      if (ranking_.has_estimates()) NoteEstimate(child, ranking_.EstimateOf(child));
    }
    return at == best.end();
  }

  // Makes the children, whose states are those of next_, the frontier.
  void Keep(const std::vector<std::uint32_t>& children) {
    std::vector<Step> steps;
    steps.reserve(children.size());
    next_.costs.clear();
    next_.costs.reserve(children.size());
    next_.of_inverse.clear();
    for (const std::uint32_t child : children) {
      const Step& step = steps.emplace_back(StepTo(child));
      next_.costs.push_back(CostTo(child));
      if (!frontier_.of_inverse.empty()) {
        next_.of_inverse.push_back(frontier_.of_inverse[step.parent]);
      }
      kept_.Insert(SaltedHash(child));
    }
    next_.least_cost = children.empty() ? 0 : *std::ranges::min_element(next_.costs);
    ranking_.Advance(children);
    paths_.Add(std::move(steps));
    std::swap(frontier_, next_);
    if (meeting_ && !frontier_.of_inverse.empty()) {
      meeting_->Advance(paths_, frontier_.costs, frontier_.of_inverse);
    }
  }

  // The moves of a partial path of the inverse position do nothing useful in the position itself.
  void NoteEstimate(std::uint32_t child, float estimate) {
    if (OfInverse(StepTo(child).parent)) return;
    if (nearest_ && estimate >= nearest_->estimate) return;
    nearest_ = {.estimate = estimate, .depth = paths_.depth(), .child = child};
  }

  // Fills in the fields of `result` that follow from how the search ended.
  void FinishResult(SearchResult& result) const {
    result.stored = static_cast<std::int64_t>(kept_.size());
    result.bytes = BytesStored();
    result.dropped_states = !kept_all_;
    const auto path_to = [&](const NearestChild& nearest) {
      return paths_.PathBy(StepTo(static_cast<std::size_t>(nearest.child)), nearest.depth);
    };
    FinishBeam(domain_.spec(), nearest_, path_to, result);
  }

  ConstRows states() const {
    const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
    return {frontier_.states.data(), frontier_.states.size() / state_size, state_size};
  }

  Step StepTo(std::size_t child) const {
    return BeamPaths::StepTo(child, domain_.spec().num_actions());
  }

  double CostTo(std::size_t child) const {
    const Step step = StepTo(child);
    return frontier_.costs[step.parent] + domain_.spec().action_costs[step.action];
  }

  // Whether every solution through a child costs too much.
  bool IsExcluded(std::size_t child) {
    if (!bound_.is_limited()) return false;
    if (!bound_.Excludes(CostTo(child) + expander_.LeastCostToGo(child))) return false;
    excluded_ = true;
    return true;
  }

  // The key of a child in kept_. Beams that meet must not drop each other's states.
  std::uint64_t SaltedHash(std::size_t child) const {
    const std::uint64_t hash = expander_.hashes()[child];
    return meeting_ && OfInverse(StepTo(child).parent) ? hash ^ kInverseSalt : hash;
  }

  bool OfInverse(std::size_t parent) const {
    return !frontier_.of_inverse.empty() && frontier_.of_inverse[parent] != 0;
  }

  const Domain& domain_;
  const SearchConfig config_;
  const std::shared_ptr<const GoalBall> ball_;  // may be null
  const std::optional<InverseFrame> inverse_;   // only if the search begins at both positions
  const bool costs_differ_;

  // Of the current search.
  SearchConfig limits_;
  CostBound bound_;
  bool excluded_ = false;  // a child was dropped because of bound_
  bool kept_all_ = true;   // no child was dropped because of the width
  BeamFrontier frontier_;  // of the current depth
  BeamPaths paths_;
  HashSet kept_;
  std::optional<NearestChild> nearest_;
  std::optional<BeamMeeting> meeting_;  // only if the search is bidirectional

  Expander expander_;
  BeamRanking ranking_;
  HashSet seen_;                     // hashes seen among the current children
  std::vector<std::uint8_t> built_;  // states of new children
  BeamFrontier next_;                // its memory takes turns with that of frontier_
};

// AnytimeBeamSearch repeats BeamSearch with a beam that is twice as wide each time, from 64 states
// to search.beam_width, and keeps the cheapest solution, without detours (complete anytime beam
// search; Zhang 1998). Once there is a solution, it looks only for cheaper ones.
//
// It ends when the widest beam is done, when no cheaper solution is possible, when a wider beam
// would keep the same states, or at search.max_seconds or another limit, which `stop_reason` then
// names, with or without a solution. search.max_nodes limits the sum over all beams.
class AnytimeBeamSearch final : public Search {
 public:
  // Follows config.search, whose max_seconds must be above 0.
  AnytimeBeamSearch(const Domain& domain, Evaluator& network, const Config& config,
                    std::shared_ptr<const GoalBall> ball)
      : domain_(domain), config_(config.search), beam_(domain, network, config, std::move(ball)) {}

  void SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) override {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const Stopwatch watch;
      SearchResult all;
      SearchConfig limits = config_;
      limits.beam_width = std::min(kFirstWidth, config_.beam_width);
      limits.at_most = problems.AtMost(i, config_.at_most);
      while (AddBeam(problems.states[i], limits, stop, all)) {
        limits.beam_width = std::min(2 * limits.beam_width, config_.beam_width);
        limits.max_seconds = std::max(config_.max_seconds - watch.Seconds(), kLeastSeconds);
      }
      all.seconds = watch.Seconds();
      done(i, std::move(all));
    }
  }

  std::string Describe() const override {
    return fmt::format("anytime {} within {}", beam_.Describe(), HumanSeconds(config_.max_seconds));
  }
  std::string_view MainKey() const override { return beam_.MainKey(); }
  std::string Failure(const SearchResult& result) const override {
    const bool out_of_work = result.stop_reason == StopReason::kTimeLimit ||
                             result.stop_reason == StopReason::kNodeLimit;
    return out_of_work ? AtLimit(config_, result.stop_reason) : beam_.Failure(result);
  }

 private:
  static constexpr std::int64_t kFirstWidth = 64;
  static constexpr double kLeastSeconds = 1e-9;  // 0 would mean that there is no limit

  // Adds one beam's search to `all`, and tightens `limits`. Returns whether a wider one may be
  // better.
  bool AddBeam(std::span<const std::uint8_t> start, SearchConfig& limits, const StopSignal& stop,
               SearchResult& all) {
    SearchResult next = beam_.SolveWithin(limits, start, stop);
    all.nodes += next.nodes;
    all.expanded += next.expanded;
    all.stored = std::max(all.stored, next.stored);
    all.bytes = std::max(all.bytes, next.bytes);
    all.stop_reason = next.stop_reason;
    all.dropped_states = next.dropped_states;
    // A beam ends at its first solution. If costs differ, a longer one may be cheaper.
    const bool found_all = beam_.kept_all() && !(next.solved && CostsDiffer(domain_.spec()));
    if (next.solved) {  // detours go first, so that the next beam must beat what remains
      all.actions = WithoutDetours(domain_, start, next.actions);
      all.cost = CostOf(domain_.spec(), all.actions);
      all.solved = true;
      all.best.reset();
    } else if (!all.solved && next.best &&
               (!all.best || next.best->estimate < all.best->estimate)) {
      all.best = std::move(next.best);
    }
    const StopReason reason = all.stop_reason;
    if (reason == StopReason::kTimeLimit || reason == StopReason::kNodeLimit ||
        reason == StopReason::kMemoryLimit) {
      return false;
    }
    if (all.solved) {
      all.stop_reason = StopReason::kSolved;
      limits.at_most = CostBelow(domain_.spec(), all.cost);
      if (limits.at_most <= 0) return false;
    }
    if (found_all || limits.beam_width >= config_.beam_width) return false;
    if (limits.max_nodes.value_or(0) == 0) return true;
    limits.max_nodes = *limits.max_nodes - next.nodes;
    if (*limits.max_nodes > 0) return true;
    all.stop_reason = StopReason::kNodeLimit;
    return false;
  }

  const Domain& domain_;
  const SearchConfig config_;
  BeamSearch beam_;
};

}  // namespace

void CheckBeamWidth(const DomainSpec& spec, std::int64_t width, std::string_view key,
                    std::int64_t most_children) {
  const std::int64_t most = most_children / spec.num_actions();
  if (width <= most) return;
  throw InputError(fmt::format("{}: {}, expected at most {} with {} actions", key, width, most,
                               spec.num_actions()));
}

std::string Search::BeamFailure(const SearchConfig& config, const SearchResult& result) {
  std::string at_limit = AtLimit(config, result.stop_reason, "lower search.beam_width, or ");
  if (!at_limit.empty()) return at_limit;
  const bool full = result.dropped_states;
  const std::string found = full ? fmt::format("found with beam width {}", config.beam_width)
                                 : "found, and wider beams would find none";
  const std::string or_beam = full ? " or search.beam_width" : "";
  const std::string or_policy = config.policy_actions > 0 ? " or search.policy_actions" : "";
  if (result.stop_reason == StopReason::kCostLimit) {
    return fmt::format("no solution that costs at most {} {}; raise the limit{}{}", AllowedCost(),
                       found, or_beam, or_policy);
  }
  if (result.stop_reason == StopReason::kLengthLimit) {
    return fmt::format("no solution of at most {} moves {}; raise search.max_length{}{}",
                       config.max_length, found, or_beam, or_policy);
  }
  if (full) {
    return fmt::format("no unvisited states remain with beam width {}; raise search.beam_width{}",
                       config.beam_width, or_policy);
  }
  if (config.policy_actions > 0) return NotAmongProbable(config);
  return "the puzzle has no solution: no state that can be reached is a goal";
}

std::unique_ptr<Search> MakeBeamSearch(const Domain& domain, Evaluator& network,
                                       const Config& config, std::shared_ptr<const GoalBall> ball) {
  return std::make_unique<BeamSearch>(domain, network, config, std::move(ball));
}

std::unique_ptr<Search> MakeAnytimeBeamSearch(const Domain& domain, Evaluator& network,
                                              const Config& config,
                                              std::shared_ptr<const GoalBall> ball) {
  return std::make_unique<AnytimeBeamSearch>(domain, network, config, std::move(ball));
}

}  // namespace tandem
