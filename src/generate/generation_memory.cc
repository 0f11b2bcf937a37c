#include "generate/generation_memory.h"

#include <algorithm>
#include <cstddef>

#include "generate/bellman.h"
#include "generate/known_estimates.h"
#include "generate/own_solutions.h"
#include "generate/q_learning.h"
#include "generate/retrograde.h"
#include "generate/search_tree.h"
#include "search/astar.h"
#include "search/goal_ball.h"

namespace tandem {
namespace {

std::int64_t BallBytes(const Config& config, const DomainSpec& spec) {
  if (config.generate.ball_radius <= 0) return 0;
  return static_cast<std::int64_t>(GoalBall::BytesFor(
      spec, static_cast<float>(config.generate.ball_radius), config.memory.ball_limit_bytes()));
}

// Returns how many of `states` states exist at a time: those of two chunks at most.
std::int64_t StatesAtATime(const GenerateConfig& generate, std::int64_t states) {
  return std::min(2 * generate.rows_of_chunk(), states);
}

// Returns the bytes of `states` states, each with its children.
std::int64_t StateBatchBytes(const GenerateConfig& generate, const DomainSpec& spec,
                             std::int64_t states) {
  if (IsQLearning(generate.target)) return QLearningGenerator::BytesFor(spec, states);
  const std::int64_t known_costs =  // of the children, with a ball
      generate.ball_radius > 0 ? states * spec.num_actions() * std::int64_t{sizeof(float)} : 0;
  return StateBatch::BytesFor(spec, states) + known_costs;
}

// Returns the bytes of states that are labelled by their children. Each search keeps its states,
// and A* its nodes, up to its last step.
std::int64_t BackupBytes(const Config& config, const DomainSpec& spec, std::int64_t rows) {
  const GenerateConfig& generate = config.generate;
  const std::int64_t rows_per_search = generate.rows_per_search();
  const std::int64_t width = generate.states_per_step();
  const std::int64_t searches = (rows + rows_per_search - 1) / rows_per_search;
  const std::int64_t states = std::max(StatesAtATime(generate, searches * width),
                                       std::min<std::int64_t>(searches, 2) * width);
  std::int64_t bytes = StateBatchBytes(generate, spec, states);
  if (generate.search == GenerateSearch::kAStar) {
    const std::size_t nodes = 1 + static_cast<std::size_t>(rows_per_search) * spec.num_actions();
    bytes += states * static_cast<std::int64_t>(AStarBytesFor(nodes, spec));
  }
  if (generate.searches() && !IsQLearning(generate.target)) {
    bytes += states / width * KnownEstimates::BytesFor(spec, rows_per_search);
  }
  if (SearchTree::IsNeeded(generate)) {
    bytes += states / width * SearchTree::BytesFor(spec, rows_per_search);
  }
  if (LabelsWhenTraining(config.pipeline.mode)) {  // StoredStateLabeller has batches of its own
    bytes += StateBatchBytes(generate, spec, StatesAtATime(generate, rows));
  }
  return bytes;
}

// Returns the bytes that the target needs in addition to a ball.
std::int64_t TargetBytes(const Config& config, const DomainSpec& spec, std::int64_t rows) {
  const GenerateConfig& generate = config.generate;
  switch (generate.target) {
    case Target::kWalkLength:
    case Target::kPolicy:
      return 0;
    case Target::kValueIteration:
    case Target::kCappedValueIteration:
    case Target::kQLearning:
    case Target::kCappedQLearning:
      return BackupBytes(config, spec, rows);
    case Target::kOwnSolutions:
      return OwnSolutionsGenerator::BytesFor(spec, generate, rows);
    case Target::kRetrograde:
      return generate.workers.value_or(1) *
             RetrogradeTable::BytesFor(spec, generate.problem_states);
  }
  return 0;  // not reached: the compiler warns of a missing case
}

}  // namespace

std::int64_t GenerationBytes(const Config& config, const DomainSpec& spec, std::int64_t rows) {
  return rows == 0 ? 0 : BallBytes(config, spec) + TargetBytes(config, spec, rows);
}

}  // namespace tandem
