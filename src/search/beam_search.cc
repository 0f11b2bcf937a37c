#include "search/beam_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/stopwatch.h"
#include "base/text.h"
#include "search/loops.h"

namespace tandem {
namespace {

// The bytes that a hash takes in a table. Up to half of a table's places are empty.
constexpr std::size_t kBytesPerEntry = 2 * (sizeof(std::uint64_t) + 1);

// Look-ups miss the cache. Prefetching this many children ahead hides the latency.
constexpr std::ptrdiff_t kPrefetchDistance = 16;

// Children are numbered by 32 bits.
std::int64_t MostStates(const DomainSpec& spec) {
  return std::numeric_limits<std::uint32_t>::max() / spec.num_actions();
}

// Whether a policy is evaluated before children are chosen: to leave some out, or as a part of
// their rank beside their estimates.
bool FollowsPolicy(const Evaluator& network, const SearchConfig& config) {
  return network.action_values() == ActionValues::kSurprisals &&
         (config.policy_weight > 0 || config.policy_actions > 0);
}

// The rank of a child with the weighted surprisal of its path. An impossible path ranks last even
// if its estimate is minus infinity: their sum would be NaN, which cannot be sorted.
float WithSurprisal(float rank, float surprisal) {
  return std::isinf(surprisal) ? surprisal : rank + surprisal;
}

// Distinguishes the states of the inverse position's beam among the kept ones.
constexpr std::uint64_t kInverseSalt = 0x9E3779B97F4A7C15U;

}  // namespace

BeamRanking::BeamRanking(const Domain& domain, Evaluator& network, const Config& config)
    : spec_(domain.spec()),
      ranking_(RankingOf(network)),
      follows_policy_(FollowsPolicy(network, config.search)),
      policy_weight_(follows_policy_ ? static_cast<float>(config.search.policy_weight) : 0),
      policy_actions_(follows_policy_ ? static_cast<std::size_t>(config.search.policy_actions) : 0),
      least_action_cost_(LeastCost(domain.spec())),
      evaluator_(domain, network, RowsPerCall(config)) {}

void BeamRanking::Begin(std::size_t num_states) { path_surprisals_.assign(num_states, 0); }

void BeamRanking::FollowPolicy(ConstRows states, Expander& expander, const StopSignal& stop) {
  if (!follows_policy_) return;
  EvaluatePolicy(states, stop);
  if (policy_actions_ > 0) expander.KeepBest(step_surprisals_, policy_actions_);
}

void BeamRanking::EvaluatePolicy(ConstRows states, const StopSignal& stop) {
  const std::span<const float> values = evaluator_.EvaluateActions(states, stop);
  step_surprisals_.assign(values.begin(), values.end());
}

std::span<const BeamRanking::Ranked> BeamRanking::RankStates(
    const BeamFrontier& frontier, std::span<const std::uint32_t> children, ConstRows built,
    std::size_t count, const StopSignal& stop) {
  values_ = evaluator_.Estimate(built, stop);
  ranked_.resize(children.size());
  for (std::uint32_t i = 0; i < ranked_.size(); ++i) {
    const BeamPaths::Step step = StepTo(children[i]);
    const float more = spec_.action_costs[step.action] - least_action_cost_;
    float rank = values_[i] + frontier.ExcessCost(step.parent) + more;
    if (policy_weight_ > 0) {
      rank = WithSurprisal(rank, policy_weight_ * PathSurprisal(children[i]));
    }
    ranked_[i] = {rank, i};
  }
  std::ranges::nth_element(ranked_, ranked_.begin() + static_cast<std::ptrdiff_t>(count));
  ranked_.resize(count);
  std::ranges::sort(ranked_, {}, &Ranked::second);
  return ranked_;
}

void BeamRanking::RankActions(const BeamFrontier& frontier, ConstRows states,
                              const Expander& expander, const StopSignal& stop) {
  if (ranking_ == Ranking::kByPolicy) {
    if (!follows_policy_) EvaluatePolicy(states, stop);
    RankEach(step_surprisals_, expander,
             [&](std::size_t parent) { return path_surprisals_[parent]; });
  } else {
    values_ = evaluator_.EvaluateActions(states, stop);
    RankEach(values_, expander, [&](std::size_t parent) { return frontier.ExcessCost(parent); });
  }
}

// Ranks each child that is not left out by its value plus the rank of its parent.
template <class RankOfParent>
void BeamRanking::RankEach(std::span<const float> values, const Expander& expander,
                           const RankOfParent& rank_of_parent) {
  num_returned_ = 0;
  ranked_.clear();
  ranked_.reserve(values.size());
  const std::span<const std::uint8_t> is_left_out = expander.is_left_out();
  const auto num_actions = static_cast<std::size_t>(spec_.num_actions());
  for (std::uint32_t i = 0, parent = 0; i < values.size(); ++parent) {
    const float of_parent = rank_of_parent(parent);
    for (std::size_t a = 0; a < num_actions; ++a, ++i) {
      if (is_left_out[i] == 0) ranked_.emplace_back(values[i] + of_parent, i);
    }
  }
}

// Sorts only what it returns. The caller drops duplicates and asks again, so each call sorts at
// least a fixed share of the rest. Calls are then few even if nearly all children are duplicates.
std::span<const BeamRanking::Ranked> BeamRanking::NextBest(std::size_t wanted) {
  constexpr std::size_t kShareOfCall = 8;
  const std::size_t count =
      std::min(std::max(wanted, num_remaining() / kShareOfCall), num_remaining());
  const auto begin = ranked_.begin() + static_cast<std::ptrdiff_t>(num_returned_);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  std::nth_element(begin, end, ranked_.end());
  std::sort(begin, end);  // decides which of several equal children is kept
  num_returned_ += count;
  return {begin, end};
}

float BeamRanking::EstimateOf(std::uint32_t i) const {
  return ranks_states() ? values_[i] : values_[i] - spec_.action_costs[StepTo(i).action];
}

// Sets the surprisals of the paths to `children`. Differences suffice for ranking, and stay exact
// in a float however long the path is.
void BeamRanking::Advance(std::span<const std::uint32_t> children) {
  if (has_estimates() && !follows_policy_) return;
  std::vector<float> next;
  next.reserve(children.size());
  for (const std::uint32_t child : children) next.push_back(PathSurprisal(child));
  const float least = children.empty() ? 0 : *std::ranges::min_element(next);
  for (float& surprisal : next) {
    // Paths that are all impossible are equally improbable. Infinity minus infinity would be NaN.
    surprisal = std::isinf(least) ? 0 : surprisal - least;
  }
  path_surprisals_ = std::move(next);
}

void CheckBeamWidth(const DomainSpec& spec, std::int64_t width, std::string_view key,
                    std::int64_t most_children) {
  const std::int64_t most = most_children / spec.num_actions();
  if (width <= most) return;
  throw InputError(fmt::format("{}: {}, expected at most {} with {} actions", key, width, most,
                               spec.num_actions()));
}

BeamSearch::BeamSearch(const Domain& domain, Evaluator& network, const Config& config,
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

void BeamSearch::SolveAll(const ProblemBatch& problems, const StopSignal& stop, const Done& done) {
  for (std::size_t i = 0; i < problems.size(); ++i) {
    SearchConfig limits = config_;
    limits.at_most = problems.AtMost(i, config_.at_most);
    done(i, SolveWithin(limits, problems.states[i], stop));
  }
}

SearchResult BeamSearch::SolveWithin(const SearchConfig& limits,
                                     std::span<const std::uint8_t> start, const StopSignal& stop) {
  const Stopwatch watch;
  limits_ = limits;
  limits_.beam_width = std::min(limits.beam_width, MostStates(domain_.spec()));
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

// Expands the frontier, and makes the best children the next one unless one of them completes a
// `solution`. Returns the limit that it met, if any.
std::optional<StopReason> BeamSearch::GoDeeper(const StopSignal& within, SearchResult& result,
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

// A position may be its own inverse. If the beams meet, both are needed nevertheless.
void BeamSearch::Begin(std::span<const std::uint8_t> start) {
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

std::optional<StopReason> BeamSearch::LimitReached(std::int64_t nodes) const {
  if (frontier_.states.empty()) return excluded_ ? StopReason::kCostLimit : StopReason::kExhausted;
  if (std::cmp_greater_equal(paths_.depth(), limits_.max_length)) return StopReason::kLengthLimit;
  return WorkLimitExceeded(limits_, nodes, BytesOfNextDepth());
}

// The memory of the states kept so far, once `more` others are kept.
std::int64_t BeamSearch::BytesStored(std::size_t more) const {
  std::size_t bytes =
      kept_.BytesWith(more) + (kept_.size() + more) * sizeof(Step) + frontier_.states.size();
  if (meeting_) bytes += meeting_->BytesWith(more);
  return static_cast<std::int64_t>(bytes);
}

// About the greatest memory while the children of the frontier are made and chosen from. All new
// children are copied to be evaluated if they are ranked by their states and were kept.
std::int64_t BeamSearch::BytesOfNextDepth() const {
  const DomainSpec& spec = domain_.spec();
  const auto parents = static_cast<std::int64_t>(frontier_.costs.size());
  const std::int64_t children = parents * spec.num_actions();
  const std::int64_t kept = std::min(children, limits_.beam_width);
  // For each child: its estimate, its surprisal, its rank, its place in the order and among the new
  // ones, and its hash among those seen at this depth.
  constexpr std::int64_t kBytesPerChild =
      2 * sizeof(float) + sizeof(BeamRanking::Ranked) + 2 * sizeof(std::uint32_t) + kBytesPerEntry;
  const bool copies = ranking_.ranks_states() && expander_.keeps_children();
  return BytesStored(static_cast<std::size_t>(kept)) + Expander::BytesFor(spec, parents) +
         children * (kBytesPerChild + (copies ? spec.state_size : 0)) + kept * spec.state_size;
}

// For each state of the frontier, the action that undoes the last one of its path. Empty if there
// is no last action, or if actions have no inverses.
std::vector<Action> BeamSearch::UndoingActions() const {
  const std::vector<Action>& inverses = domain_.spec().inverse_actions;
  if (inverses.empty()) return {};
  std::vector<Action> undoing;
  undoing.reserve(paths_.last_steps().size());
  for (const Step step : paths_.last_steps()) undoing.push_back(inverses[step.action]);
  return undoing;
}

ConstRows BeamSearch::states() const {
  const auto state_size = static_cast<std::size_t>(domain_.spec().state_size);
  return {frontier_.states.data(), frontier_.states.size() / state_size, state_size};
}

// The cheapest solution within search.max_length through a child whose cost-to-go is known.
std::optional<std::vector<Action>> BeamSearch::CheapestSolution() const {
  const std::int64_t most_actions =
      limits_.max_length - static_cast<std::int64_t>(paths_.depth()) - 1;
  const std::optional<std::size_t> cheapest = expander_.CheapestKnown(
      0, expander_.size(), [&](std::size_t child) { return CostTo(child); }, bound_, most_actions);
  if (!cheapest) return std::nullopt;
  std::vector<Action> actions = paths_.PathBy(StepTo(*cheapest), paths_.depth());
  std::ranges::copy(expander_.PathToGoal(*cheapest), std::back_inserter(actions));
  return OfInverse(StepTo(*cheapest).parent) ? inverse_->Translate(actions) : actions;
}

double BeamSearch::CostTo(std::size_t child) const {
  const Step step = StepTo(child);
  return frontier_.costs[step.parent] + domain_.spec().action_costs[step.action];
}

// Whether every solution through a child costs too much.
bool BeamSearch::IsExcluded(std::size_t child) {
  if (!bound_.is_limited()) return false;
  if (!bound_.Excludes(CostTo(child) + expander_.LeastCostToGo(child))) return false;
  excluded_ = true;
  return true;
}

// The children whose states were not kept before, in ascending order. Of equal children only the
// cheapest is included, on ties the first.
std::vector<std::uint32_t> BeamSearch::NewChildren() {
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
std::vector<std::uint32_t> BeamSearch::ChooseByStates(const StopSignal& stop,
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
std::vector<std::uint32_t> BeamSearch::ChooseByActions(const StopSignal& stop,
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
bool BeamSearch::TakeNew(std::span<const BeamRanking::Ranked> best,
                         std::vector<std::uint32_t>& chosen) {
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

// The moves of a partial path of the inverse position do nothing useful in the position itself.
void BeamSearch::NoteEstimate(std::uint32_t child, float estimate) {
  if (OfInverse(StepTo(child).parent)) return;
  if (nearest_ && estimate >= nearest_->estimate) return;
  nearest_ = {.estimate = estimate, .depth = paths_.depth(), .step = StepTo(child)};
}

// Makes the children, whose states are those of next_, the frontier.
void BeamSearch::Keep(const std::vector<std::uint32_t>& children) {
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

// The key of a child in kept_. Beams that meet must not drop each other's states.
std::uint64_t BeamSearch::SaltedHash(std::size_t child) const {
  const std::uint64_t hash = expander_.hashes()[child];
  return meeting_ && OfInverse(StepTo(child).parent) ? hash ^ kInverseSalt : hash;
}

// Fills in the fields of `result` that follow from how the search ended.
void BeamSearch::FinishResult(SearchResult& result) const {
  result.stored = static_cast<std::int64_t>(kept_.size());
  result.bytes = BytesStored();
  result.dropped_states = !kept_all_;
  result.cost = CostOf(domain_.spec(), result.actions);
  if (result.solved) {
    result.stop_reason = StopReason::kSolved;
  } else if (nearest_) {
    result.best = {.actions = paths_.PathBy(nearest_->step, nearest_->depth),
                   .estimate = nearest_->estimate};
    result.best->cost = CostOf(domain_.spec(), result.best->actions);
  }
}

std::string BeamSearch::Describe() const {
  return fmt::format("{}beam search with width {}{}", meeting_ ? "bidirectional " : "",
                     WithThousands(config_.beam_width),
                     inverse_ && !meeting_ ? " from the position and its inverse" : "");
}

std::string BeamSearch::FailureWith(const SearchConfig& config, const SearchResult& result) {
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

}  // namespace tandem
