// Compares searches with exact solutions of random puzzles.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/costs.h"
#include "search/hash_set.h"
#include "search/search.h"
#include "support/goal_ball.h"
#include "support/head_evaluator.h"
#include "support/random_puzzles.h"
#include "support/searches.h"

namespace tandem {

/// What a network's estimates have to do with the exact costs-to-go.
enum class Estimates {
  kExact,
  kNeverTooHigh,  ///< random, and not consistent
  kErratic,       ///< random, also negative
  kInfinite,      ///< erratic, and infinite for some states
};

/// RandomNet gives such estimates as a network with a certain head. Its policy is random.
class RandomNet final : public HeadEvaluator {
 public:
  RandomNet(const Domain& domain, const ExactSolutions& exact, Head head, Estimates estimates,
            std::uint64_t seed)
      : HeadEvaluator(head),
        domain_(domain),
        exact_(exact),
        is_q_(IsQ(head)),
        estimates_(estimates),
        scale_(4 * domain.spec().action_costs[0]),
        seed_(seed) {}

  void Evaluate(ConstRows inputs, std::span<float> values) override {
    const auto actions = static_cast<std::size_t>(domain_.spec().num_actions());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values[i] = is_q_ ? std::numeric_limits<float>::infinity() : Estimate(inputs[i]);
      for (std::size_t a = 0; is_q_ && a < actions; ++a) {
        values[i] = std::min(values[i], QValue(inputs[i], static_cast<Action>(a)));
      }
    }
  }

  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    const std::size_t actions = values.size() / inputs.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto action = static_cast<Action>(i % actions);
      values[i] = is_q_ ? QValue(inputs[i / actions], action)
                        : 5 * ShareOf(inputs[i / actions], 1 + action);
    }
  }

 private:
  float QValue(std::span<const std::uint8_t> state, Action action) const {
    const State child = After(domain_, {state.begin(), state.end()}, {action});
    return domain_.spec().action_costs[action] + Estimate(child);
  }

  float Estimate(std::span<const std::uint8_t> state) const {
    const auto exact = static_cast<float>(exact_.Cost(state));
    const float share = ShareOf(state, 0);
    switch (estimates_) {
      case Estimates::kExact:
        return exact;
      case Estimates::kNeverTooHigh:
        return std::isinf(exact) ? scale_ * share : exact * share;
      case Estimates::kErratic:
        return scale_ * (share - 0.1F);
      case Estimates::kInfinite:
        break;
    }
    return share > 0.9F ? std::numeric_limits<float>::infinity() : scale_ * (share - 0.1F);
  }

  // In [0, 1).
  float ShareOf(std::span<const std::uint8_t> state, std::uint64_t number) const {
    return static_cast<float>(
        Random(HashState(state) ^ seed_, Purpose::kShuffle, number, 0).Share());
  }

  const Domain& domain_;
  const ExactSolutions& exact_;
  const bool is_q_;
  const Estimates estimates_;
  const float scale_;
  const std::uint64_t seed_;
};

/// Trial is a random puzzle, a random network and a search of all its states with random settings.
/// Run compares every result with the exact solutions. With Program::kTensor, the trial is one for
/// beam search by tensor operations, which the caller makes.
class Trial {
 public:
  explicit Trial(std::uint64_t seed, Program program = Program::kDomain)
      : seed_(seed), dice_(seed), by_tensors_(program == Program::kTensor) {
    std::vector<State> starts;
    if (by_tensors_ || dice_.Chance(0.25)) {
      domain_ = std::make_unique<RandomPermutations>(dice_);
      permutes_ = true;
      starts = {GoalOf(*domain_)};
    } else {
      reversible_ = dice_.Chance(0.5);
      auto graph = std::make_unique<RandomGraph>(dice_, reversible_);
      for (std::size_t i = 0; i < graph->states(); ++i) {
        starts.push_back({static_cast<std::uint8_t>(i)});
      }
      domain_ = std::move(graph);
    }
    exact_.emplace(*domain_, starts);
    DrawSearch();
  }

  void Run() {
    RandomNet net(*domain_, *exact_, head_, estimates_, seed_);
    Run(*MakeSearch(net));
  }

  /// Checks `search`, which must follow domain(), config() and ball().
  void Run(Search& search) {
    SCOPED_TRACE(Describe());
    std::vector<std::uint8_t> bytes;
    for (const State& state : exact_->states()) {
      if (permutes_ && dice_.Chance(0.9)) continue;  // about 10 of 120 states suffice
      bytes.insert(bytes.end(), state.begin(), state.end());
      at_most_.push_back(DrawAtMost(state));
    }
    const ConstRows rows(bytes.data(), at_most_.size(), exact_->states()[0].size());
    std::size_t ended = 0;
    search.SolveAll({rows, at_most_}, StopSignal(), [&](std::size_t i, SearchResult result) {
      ++ended;
      SCOPED_TRACE(fmt::format("state {}, at most {}: {}, {}", domain_->FormatState(rows[i]),
                               at_most_[i], NameOf(result.stop_reason),
                               FormatActions(domain_->spec(), result.actions)));
      Check(rows[i], at_most_[i], result);
    });
    EXPECT_EQ(ended, rows.size());
  }

  const Domain& domain() const { return *domain_; }
  const Config& config() const { return config_; }
  const std::shared_ptr<const GoalBall>& ball() const { return ball_; }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  void DrawSearch() {
    config_.search.max_seconds = 3600;  // only anytime beam search asks for it
    head_ = dice_.OneOf<Head>({Head::kV, Head::kQ, Head::kQIn, Head::kPolicy, Head::kVp});
    std::vector<SearchMethod> methods = {SearchMethod::kBeam, SearchMethod::kAnytimeBeam,
                                         SearchMethod::kGreedy};
    if (EstimatesCosts(head_)) {
      methods.insert(methods.end(), {SearchMethod::kAStar, SearchMethod::kIdaStar});
    }
    if (IsQ(head_)) methods.push_back(SearchMethod::kQStar);
    if (permutes_) methods.push_back(SearchMethod::kBidirectionalBeam);
    SearchConfig& search = config_.search;
    search.method = dice_.OneOf(methods);
    estimates_ = dice_.OneOf<Estimates>(
        {Estimates::kExact, Estimates::kNeverTooHigh, Estimates::kErratic, Estimates::kInfinite});
    if (by_tensors_) {  // a network with random weights guides the only search of this kind
      head_ = Head::kV;
      search.method = SearchMethod::kBeam;
      estimates_ = Estimates::kErratic;
    }
    search.weight = dice_.OneOf<double>({0, 0.3, 0.6, 1, 1, 2});
    search.batch = dice_.OneOf<std::int64_t>({1, 3, 1000});
    search.instances = dice_.OneOf<std::int64_t>({1, 3});
    search.beam_width = dice_.OneOf<std::int64_t>({1, 3, 1000});
    search.max_length = dice_.OneOf<std::int64_t>({1, 2, 3, 4, 6, 30});
    if (head_ == Head::kVp) search.policy_weight = dice_.OneOf<double>({0, 1});
    if (HasPolicy(head_)) search.policy_actions = dice_.OneOf<std::int64_t>({0, 0, 1, 2});
    if (search.method == SearchMethod::kIdaStar && search.max_length > 6) {
      search.max_length = 6;  // the time grows exponentially
    }
    if (permutes_ && IsBeam()) {
      search.inverse = dice_.Chance(0.3) ? UseInverse::kYes : UseInverse::kNo;
    }
    limits_cost_ = dice_.Chance(0.4);
    if ((permutes_ || reversible_) && dice_.Chance(0.5)) {
      ball_ = BallOf(*domain_, dice_.OneOf<float>({0.2F, 0.5F, 1, 2, 4, 8}));
    }
  }

  bool IsBeam() const {
    const SearchMethod method = config_.search.method;
    return method == SearchMethod::kBeam || method == SearchMethod::kAnytimeBeam;
  }
  bool IsBestFirstSearch() const {
    const SearchMethod method = config_.search.method;
    return method == SearchMethod::kAStar || method == SearchMethod::kQStar;
  }

  std::unique_ptr<Search> MakeSearch(Evaluator& net) const {
    return tandem::MakeSearch(*domain_, net, config_, ball_);
  }

  // The least cost of a solution that the search could find if it looked at all of them.
  double Least(std::span<const std::uint8_t> state) const {
    if (IsBestFirstSearch()) return exact_->Cost(state);
    return exact_->Cost(state, static_cast<std::size_t>(config_.search.max_length));
  }

  // At, below or above the cost of a solution, so that rounding does not decide. 0: no limit.
  float DrawAtMost(const State& state) {
    if (!limits_cost_) return 0;
    const double least = dice_.Chance(0.5) ? exact_->Cost(state) : Least(state);
    if (std::isinf(least) || least == 0) return 3;
    return static_cast<float>(least) * dice_.OneOf<float>({0.9F, 1, 1.3F});
  }

  void Check(std::span<const std::uint8_t> start, float at_most, const SearchResult& result) const {
    const CostBound bound(at_most);
    if (result.solved) CheckSolution(start, bound, result);
    EXPECT_EQ(result.solved, result.stop_reason == StopReason::kSolved);
    if (result.solved) {
      EXPECT_FALSE(result.best.has_value());
      CheckCost(start, result);
    } else {
      CheckProof(start, bound, result);
    }
    if (result.best) {
      EXPECT_EQ(result.best->cost, CostOf(domain_->spec(), result.best->actions));
    }
  }

  void CheckSolution(std::span<const std::uint8_t> start, const CostBound& bound,
                     const SearchResult& result) const {
    const State state(start.begin(), start.end());
    EXPECT_TRUE(Solves(*domain_, state, result.actions));
    State at = state;
    for (const Action action : result.actions) {
      const State before = at;
      at = After(*domain_, before, {action});
      EXPECT_NE(at, before) << "an action that does not apply";
    }
    EXPECT_EQ(result.cost, CostOf(domain_->spec(), result.actions));
    EXPECT_FALSE(bound.Excludes(result.cost));
    if (!IsBestFirstSearch()) {
      EXPECT_LE(std::ssize(result.actions), config_.search.max_length);
    }
    const std::vector<Action> shorter = WithoutDetours(*domain_, start, result.actions);
    EXPECT_TRUE(Solves(*domain_, state, shorter));
    EXPECT_LE(CostOf(domain_->spec(), shorter), result.cost);
  }

  // What the search promises about the cost of its solution.
  void CheckCost(std::span<const std::uint8_t> start, const SearchResult& result) const {
    const SearchConfig& search = config_.search;
    const bool never_too_high =
        estimates_ == Estimates::kExact || estimates_ == Estimates::kNeverTooHigh;
    const bool by_weight = IsBestFirstSearch() || search.method == SearchMethod::kIdaStar;
    if (by_weight && never_too_high && search.weight > 0 && search.policy_actions == 0) {
      EXPECT_LE(result.cost, WithRounding(Least(start) / std::min(1.0, search.weight)));
    }
    if (KeepsAll() && !CostsDiffer(domain_->spec())) {
      EXPECT_LE(result.cost, WithRounding(Least(start)));
    }
  }

  // Whether the search is a beam that has room for all states.
  bool KeepsAll() const {
    return IsBeam() && config_.search.beam_width == 1000 && config_.search.policy_actions == 0;
  }

  // What the search says about solutions if it found none.
  void CheckProof(std::span<const std::uint8_t> start, const CostBound& bound,
                  const SearchResult& result) const {
    const SearchMethod method = config_.search.method;
    const bool exists = !std::isinf(Least(start)) && !bound.Excludes(Least(start));
    if (config_.search.policy_actions > 0) return;
    if (IsBestFirstSearch()) {
      EXPECT_FALSE(exists);
    }
    if (method == SearchMethod::kIdaStar && !result.dropped_states) {
      EXPECT_FALSE(exists);
    }
    // A beam drops a dearer path to a state that it reached before, so it may miss a solution
    // that a limit on costs allows.
    if (IsBeam() && !result.dropped_states && !bound.is_limited()) {
      EXPECT_FALSE(exists);
    }
    if (KeepsAll()) {
      EXPECT_FALSE(result.dropped_states);
    }
    const bool without_limits = result.stop_reason == StopReason::kExhausted;
    if (without_limits && method != SearchMethod::kGreedy && !result.dropped_states) {
      EXPECT_EQ(exact_->Cost(start), kInfinity);
    }
    if (result.stop_reason == StopReason::kLengthLimit && method == SearchMethod::kIdaStar &&
        !result.dropped_states) {  // whatever the solutions cost
      EXPECT_EQ(Least(start), kInfinity);
    }
    if (result.stop_reason == StopReason::kCostLimit) {
      EXPECT_TRUE(bound.is_limited());
    }
  }

  std::string Describe() const {
    const SearchConfig& search = config_.search;
    std::string text = fmt::format(
        "seed {}: {} with head {}, estimates {}, weight {}, batch {}, width {}, max_length {}, "
        "policy_actions {}, policy_weight {}, inverse {}, ",
        seed_, NameOf(kSearchMethods, search.method), NameOf(kHeads, head_), int(estimates_),
        search.weight, search.batch, search.beam_width, search.max_length, search.policy_actions,
        search.policy_weight, search.inverse == UseInverse::kYes);
    text += ball_ ? fmt::format("ball {}", ball_->radius()) : "no ball";
    return text;
  }

  const std::uint64_t seed_;
  Dice dice_;
  const bool by_tensors_;
  std::unique_ptr<const Domain> domain_;
  std::optional<ExactSolutions> exact_;
  bool permutes_ = false;
  bool reversible_ = false;
  bool limits_cost_ = false;
  Head head_ = Head::kV;
  Estimates estimates_ = Estimates::kExact;
  Config config_;
  std::shared_ptr<const GoalBall> ball_;
  std::vector<float> at_most_;
};

/// Runs the trials with these seeds, and stops at the first that fails.
inline void RunTrials(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    Trial(seed).Run();
  }
}

}  // namespace tandem
