#include "generate/generator.h"

#include <utility>

#include "generate/exact_labels.h"
#include "generate/own_solutions.h"
#include "generate/policy.h"
#include "generate/q_learning.h"
#include "generate/retrograde.h"
#include "generate/value_iteration.h"
#include "generate/walk_length.h"

namespace tandem {

std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const Config& config,
                                         Evaluator* network,
                                         std::shared_ptr<const ExactLabels> exact) {
  if (exact == nullptr) exact = MakeExactLabels(domain, config);
  switch (config.generate.target) {
    case Target::kWalkLength:
      if (HasPolicy(config.network.head)) {
        return std::make_unique<PolicyGenerator>(domain, config, std::move(exact));
      }
      return std::make_unique<WalkLengthGenerator>(domain, config, std::move(exact));
    case Target::kValueIteration:
    case Target::kCappedValueIteration:
      return std::make_unique<ValueIterationGenerator>(domain, *network, config, std::move(exact));
    case Target::kPolicy:
      return std::make_unique<PolicyGenerator>(domain, config, std::move(exact));
    case Target::kQLearning:
    case Target::kCappedQLearning:
      return std::make_unique<QLearningGenerator>(domain, *network, config, std::move(exact));
    case Target::kOwnSolutions:
      return std::make_unique<OwnSolutionsGenerator>(domain, *network, config);
    case Target::kRetrograde:
      return std::make_unique<RetrogradeGenerator>(domain, config);
  }
  return nullptr;  // not reached: the compiler warns of a missing case
}

}  // namespace tandem
