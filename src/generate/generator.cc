#include "generate/generator.h"

#include <utility>

#include "generate/labels.h"
#include "search/game_search.h"

namespace tandem {

std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const Config& config,
                                         Evaluator* network,
                                         std::shared_ptr<const ExactLabels> exact) {
  if (config.generate.target == Target::kSelfPlay) {
    return MakeSelfPlayGenerator(domain, *network, config);
  }
  CheckIsPuzzle(domain, "generate.target", NameOf(kTargets, config.generate.target),
                "generate.target to self_play");
  if (exact == nullptr) exact = MakeExactLabels(domain, config);
  switch (config.generate.target) {
    case Target::kWalkLength:
    case Target::kPolicy:
      return MakeWalkGenerator(domain, config, std::move(exact));
    case Target::kValueIteration:
    case Target::kCappedValueIteration:
    case Target::kQLearning:
    case Target::kCappedQLearning:
      return MakeValueIterationGenerator(domain, *network, config, std::move(exact));
    case Target::kOwnSolutions:
      return MakeOwnSolutionsGenerator(domain, *network, config);
    case Target::kRetrograde:
      return MakeRetrogradeGenerator(domain, config);
    case Target::kSelfPlay:
      break;  // made before
  }
  return nullptr;  // not reached: the compiler warns of a missing case
}

void SolvedByLength::Add(std::int64_t length, bool solved) {
  const auto at = static_cast<std::size_t>(length);
  if (at >= counts_.size()) counts_.resize(at + 1);
  ++counts_[at].searches;
  counts_[at].solved += solved ? 1 : 0;
}

std::optional<double> SolvedByLength::MeanShare() const {
  double sum = 0;
  std::int64_t lengths = 0;
  for (const auto& [searches, solved] : counts_) {
    if (searches == 0) continue;
    sum += static_cast<double>(solved) / static_cast<double>(searches);
    ++lengths;
  }
  if (lengths == 0) return std::nullopt;
  return sum / static_cast<double>(lengths);
}

void Curriculum::FillEnds(std::optional<double> searches_solved) {
  constexpr double kEnoughSolved = 0.5;  // of the scrambles
  if (!is_on_ || !searches_solved || *searches_solved < kEnoughSolved) return;
  reached_ = std::min(2 * reached_, max_);
}

}  // namespace tandem
