#include "train/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/fault_point.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "base/timeline.h"
#include "domain/random_walks.h"
#include "search/costs.h"
#include "search/evaluation.h"
#include "search/greedy_search.h"
#include "search/problems.h"
#include "tandem/error.h"
#include "train/components.h"

namespace tandem {

namespace {

// Not the run's seed, so that results of different runs are comparable.
constexpr std::uint64_t kSeed = 0;

ValidationSet Scrambles(const Domain& domain, std::int64_t count, std::int64_t max_scramble) {
  ValidationSet validation_set;
  const auto state_size = static_cast<std::size_t>(domain.spec().state_size);
  const auto size = static_cast<std::size_t>(count);
  validation_set.states.resize(size * state_size);
  validation_set.costs.resize(size);
  std::vector<Random> randoms;
  for (std::size_t i = 0; i < size; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    // If there are fewer states than lengths, spread the states over all lengths.
    const std::int64_t length =
        count < max_scramble ? (number + 1) * max_scramble / count : 1 + number % max_scramble;
    validation_set.lengths.push_back(length);
    randoms.emplace_back(kSeed, Purpose::kValidation, 0, i);
  }
  const Rows states(validation_set.states.data(), size, state_size);
  WalkFromGoals(domain, randoms, validation_set.lengths, states, validation_set.costs);
  return validation_set;
}

ValidationSet FromFile(const Domain& domain, const std::string& path, std::int64_t count) {
  ValidationSet validation_set;
  RequireNoPipe(path);
  for (const Problem& line : ReadStates(path, domain, count)) {
    if (!line.error.empty()) throw InputError(line.error);
    if (!line.optimal) {
      throw InputError(
          fmt::format("{}: the state {} has no `optimal`, the length of a shortest solution, which "
                      "every state of validation.file needs",
                      path, DumpJson(line.id)));
    }
    validation_set.states.insert(validation_set.states.end(), line.state.begin(), line.state.end());
    validation_set.lengths.push_back(*line.optimal);
    if (CostsDiffer(domain.spec())) continue;
    validation_set.costs.push_back(static_cast<float>(*line.optimal) * LeastCost(domain.spec()));
  }
  return validation_set;
}

Config ConfigOfSearch(const Config& config, std::int64_t longest) {
  Config result = config;
  result.search = {.method = SearchMethod::kBeam,
                   .beam_width = config.validation.beam_width,
                   .max_length = 2 * longest};
  return result;
}

}  // namespace

ValidationSet MakeValidationSet(const Domain& domain, const Config& config) {
  const ValidationConfig& validation = config.validation;
  if (validation.file.empty()) {
    return Scrambles(domain, validation.states, config.generate.max_scramble);
  }
  return FromFile(domain, validation.file, validation.states);
}

Validator::Validator(const Domain& domain, const NetworkSpec& network, Device& device,
                     const Config& config)
    : domain_(domain),
      config_(config.validation),
      head_(network.layers.head),
      rows_per_call_(RowsPerCall(config)),
      validation_set_(MakeValidationSet(domain, config)),
      net_(network, config.inference, device) {
  if (config_.beam_width == 0) return;
  CheckBeamWidth(domain.spec(), config_.beam_width, "validation.beam_width");
  const std::int64_t longest = std::ranges::max(validation_set_.lengths);
  search_ = MakeSearch(domain, net_, ConfigOfSearch(config, longest));
}

// Returns which states were solved.
std::vector<bool> Validator::Solve(const StopSignal& stop) {
  const ConstRows states = validation_set_.rows();
  std::vector<bool> solved(states.size());
  if (search_ != nullptr) {
    const float greatest = std::ranges::max(domain_.spec().action_costs);
    std::vector<float> at_most;
    for (const std::int64_t length : validation_set_.lengths) {
      at_most.push_back(2 * static_cast<float>(length) * greatest);
    }
    search_->SolveAll(
        ProblemBatch(states, at_most), stop,
        [&](std::size_t i, const SearchResult& result) { solved[i] = result.solved; });
    return solved;
  }
  std::vector<std::int64_t> max_steps = validation_set_.lengths;
  for (std::int64_t& steps : max_steps) steps *= 2;
  const auto taken = DescendGreedily(domain_, net_, rows_per_call_, states, max_steps, stop);
  for (std::size_t i = 0; i < taken.size(); ++i) solved[i] = taken[i].has_value();
  return solved;
}

ValidationReport Validator::Validate(const Network& net, const StopSignal& stop) {
  net_.Load(net);
  const std::vector<bool> solved = Solve(stop);
  ValidationReport report;
  report.states = std::ssize(solved);
  report.solve_rate =
      static_cast<double>(std::ranges::count(solved, true)) / static_cast<double>(solved.size());
  std::map<std::int64_t, double> states;
  for (const std::int64_t length : validation_set_.lengths) ++states[length];
  for (std::size_t i = 0; i < solved.size(); ++i) {
    report.solve_rate_by_length[validation_set_.lengths[i]] += solved[i] ? 1 : 0;
  }
  for (auto& [length, rate] : report.solve_rate_by_length) rate /= states[length];
  if (!EstimatesCosts(head_) || validation_set_.costs.empty()) return report;
  report.value_error_by_length = SquaredErrors(stop);
  double sum = 0;
  for (auto& [length, error] : report.value_error_by_length) {
    sum += error;
    error = std::sqrt(error / states[length]);
  }
  report.value_error = std::sqrt(sum / static_cast<double>(solved.size()));
  return report;
}

// Returns the sum of the squares of estimate minus cost, for the states of each length.
std::map<std::int64_t, double> Validator::SquaredErrors(const StopSignal& stop) {
  BatchEvaluator evaluator(domain_, net_, rows_per_call_);
  const std::span<const float> estimates = evaluator.Estimate(validation_set_.rows(), stop);
  std::map<std::int64_t, double> sums;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const double error = static_cast<double>(estimates[i]) - validation_set_.costs[i];
    sums[validation_set_.lengths[i]] += error * error;
  }
  return sums;
}

RunValidation::RunValidation(ValidationConfig config, RunCounters& so_far,
                             const StopSignal& requests)
    : config_(std::move(config)), so_far_(so_far), requests_(requests) {}

void RunValidation::ValidateAtStart(Components& components) {
  if (components.validator == nullptr || so_far_.iterations > 0 || so_far_.at_start) return;
  const ScopedTimer timer(so_far_.validate_s);
  const Span span(Activity::kSetUp);
  try {
    so_far_.at_start = components.validator->Validate(components.trainer.saved_net(), requests_);
  } catch (const Stopped&) {
  }
}

std::optional<ValidationReport> RunValidation::ValidateIfDue(Components& components) {
  if (components.validator == nullptr) return std::nullopt;
  const std::int64_t every = config_.every_updates;
  if (every == 0 || so_far_.updates == 0 || so_far_.updates % every != 0) return std::nullopt;
  return Validate(components);
}

std::optional<ValidationReport> RunValidation::ValidateAtEnd(Components& components) {
  if (components.validator == nullptr || has_result()) return std::nullopt;
  std::optional<ValidationReport> report = Validate(components);
  if (!report) LogWarning("the last validation was stopped, so it has no result");
  return report;
}

std::optional<ValidationReport> RunValidation::Validate(Components& components) {
  if (has_result()) return std::nullopt;
  const ScopedTimer timer(so_far_.validate_s);
  const Span span(Activity::kValidation);
  FaultPoint(Fault::kValidate);
  try {
    return components.validator->Validate(components.trainer.saved_net(), requests_);
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

// Of two equal solve rates, the one with the smaller error is better.
bool RunValidation::IsBest(const ValidationReport& report) const {
  const auto key = [](const ValidationResult& result) {
    return std::pair(result.solve_rate, -result.value_error.value_or(0));
  };
  return !so_far_.best || key(report) > key(*so_far_.best);
}

void RunValidation::Record(const ValidationReport& report) {
  if (IsBest(report)) {
    so_far_.best = report;
    so_far_.best_update = so_far_.updates;
  }
  so_far_.validation = report;
  so_far_.validated_iterations = so_far_.iterations;
}

}  // namespace tandem
