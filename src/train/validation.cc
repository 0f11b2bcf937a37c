#include "train/validation.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/fault_point.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "base/timeline.h"
#include "data/examples.h"
#include "domain/random_walk.h"
#include "loaders/loader.h"
#include "nn/threads.h"
#include "search/beam_search.h"
#include "search/greedy_search.h"
#include "search/problems.h"
#include "tandem/error.h"
#include "train/components.h"
#include "train/run_profile.h"

namespace tandem {

namespace {

// Not the run's seed, so that results of different runs are comparable.
constexpr std::uint64_t kSeed = 0;
constexpr std::int64_t kBatchSize = 1000;
constexpr std::uint64_t kOrderSeed = 0;  // the order does not affect the sums

ValidationSet Scrambles(const Domain& domain, std::int64_t count, std::int64_t max_scramble) {
  ValidationSet validation_set;
  const auto state_size = static_cast<std::size_t>(domain.spec().state_size);
  const auto size = static_cast<std::size_t>(count);
  validation_set.states.resize(size * state_size);
  const Rows states(validation_set.states.data(), size, state_size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    // If there are fewer states than lengths, spread the states over all lengths.
    const std::int64_t length =
        count < max_scramble ? (number + 1) * max_scramble / count : 1 + number % max_scramble;
    validation_set.lengths.push_back(length);
    const Random random(kSeed, Purpose::kValidation, 0, i);
    validation_set.costs.push_back(WalkFromGoal(domain, random, length, states[i]));
  }
  return validation_set;
}

ValidationSet FromFile(const Domain& domain, const std::string& path, std::int64_t count) {
  ValidationSet validation_set;
  const float least_cost = *std::ranges::min_element(domain.spec().action_costs);
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
    validation_set.costs.push_back(static_cast<float>(*line.optimal) * least_cost);
  }
  return validation_set;
}

// Sums the squares of estimate minus cost, by groups of states with the same cost. Copies every
// batch to the host, which is cheap beside solving, and sums there in double precision.
class SquaredErrors {
 public:
  // `costs[i]` is the true cost of the states of group i.
  explicit SquaredErrors(const std::vector<float>& costs) : costs_(costs), sums_(costs.size()) {}

  // Adds n states. `estimates` has shape (n); `groups` has shape (n, 1) and holds group numbers as
  // floats. Call it on the stream of the estimates.
  void Add(const at::Tensor& estimates, const at::Tensor& groups) {
    const at::Tensor values = estimates.cpu();
    const at::Tensor numbers = groups.cpu().contiguous();
    const auto* value = values.const_data_ptr<float>();
    const auto* group = numbers.const_data_ptr<float>();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const auto g = static_cast<std::size_t>(group[i]);
      const double error = static_cast<double>(value[i]) - costs_[g];
      sums_[g] += error * error;
    }
  }

  const std::vector<double>& sums() const { return sums_; }

 private:
  std::vector<float> costs_;
  std::vector<double> sums_;
};

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

bool IsBetter(const ValidationResult& result, const ValidationResult& than, Measure measure) {
  const auto key = [&](const ValidationResult& r) {
    const double error = r.value_error.value_or(0);
    return measure == Measure::kSolveRate ? std::tuple(r.solve_rate, -error)
                                          : std::tuple(-error, r.solve_rate);
  };
  return key(result) > key(than);
}

Validator::Validator(const Domain& domain, const NetworkSpec& network, Device& device,
                     const Config& config)
    : domain_(domain),
      config_(config.validation),
      head_(network.layers.head),
      threads_(static_cast<int>(*config.inference.threads)),
      rows_per_call_(RowsPerCall(config)),
      validation_set_(MakeValidationSet(domain, config)),
      rows_(ExampleSchema(domain.spec(), Head::kV), validation_set_.lengths.size()),
      net_(network, config.inference, device),
      stream_(device.MakeStream()),
      loader_(device, rows_.schema(), kBatchSize, config.prefetch, kOrderSeed,
              kValidationPrefetch) {
  GroupStates();
  if (config_.beam_width == 0) return;
  CheckBeamWidth(domain.spec(), config_.beam_width, "validation.beam_width");
  const std::int64_t longest = std::ranges::max(validation_set_.lengths);
  search_ = MakeSearch(domain, net_, ConfigOfSearch(config, longest));
}

void Validator::GroupStates() {
  std::vector<std::pair<std::int64_t, float>> kinds;
  const auto kind_of = [&](std::size_t i) {
    return std::pair(validation_set_.lengths[i], validation_set_.costs[i]);
  };
  for (std::size_t i = 0; i < validation_set_.lengths.size(); ++i) kinds.push_back(kind_of(i));
  std::ranges::sort(kinds);
  const auto [end, last] = std::ranges::unique(kinds);
  kinds.erase(end, last);
  for (const auto& [length, cost] : kinds) groups_.push_back({.length = length, .cost = cost});
  domain_.Encode(validation_set_.rows(), rows_.column(kInputColumn));
  const std::span<float> numbers = rows_.floats(kTargetColumn);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto group = std::ranges::lower_bound(kinds, kind_of(i)) - kinds.begin();
    ++groups_[static_cast<std::size_t>(group)].states;
    numbers[i] = static_cast<float>(group);
  }
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
  std::map<std::int64_t, std::vector<bool>> by_length;
  for (std::size_t i = 0; i < solved.size(); ++i) {
    by_length[validation_set_.lengths[i]].push_back(solved[i]);
  }
  for (const auto& [length, are_solved] : by_length) {
    const auto of_length = static_cast<double>(std::ranges::count(are_solved, true));
    report.solve_rate_by_length.push_back(
        {.length = length, .solve_rate = of_length / static_cast<double>(are_solved.size())});
  }
  if (EstimatesCosts(head_)) MeasureValueErrors(report);
  return report;
}

void Validator::MeasureValueErrors(ValidationReport& report) {
  const ScopedThreads threads(threads_);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  std::vector<float> costs;
  for (const LengthGroup& group : groups_) costs.push_back(group.cost);
  SquaredErrors errors(costs);
  const std::unique_ptr<BatchIterator> batches = loader_.Open(rows_, 0);
  const auto rows = static_cast<std::int64_t>(rows_.rows());
  for (std::int64_t done = 0; done < rows; done += kBatchSize) {
    const Batch batch = batches->Next();
    errors.Add(net_.Estimates(batch.inputs), batch.targets);
  }
  const std::vector<double>& sums = errors.sums();
  double all = 0;
  for (std::size_t g = 0; g < groups_.size();) {
    const std::int64_t length = groups_[g].length;
    double sum = 0;
    std::int64_t states = 0;
    for (; g < groups_.size() && groups_[g].length == length; ++g) {
      sum += sums[g];
      states += groups_[g].states;
    }
    all += sum;
    report.by_length.push_back(
        {.length = length, .value_error = std::sqrt(sum / static_cast<double>(states))});
  }
  report.value_error = std::sqrt(all / static_cast<double>(rows));
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
    components.pipeline->OnValidation(so_far_.at_start->solve_rate);
  } catch (const Stopped&) {
  }
}

std::optional<ValidationReport> RunValidation::ValidateIfDue(Components& components) {
  if (components.validator == nullptr) return std::nullopt;
  const std::int64_t every = config_.every_updates;
  if (every == 0 || so_far_.updates == 0 || so_far_.updates % every != 0) return std::nullopt;
  // The pipeline of a resumed run has not seen the result of the checkpoint.
  if (has_result() && so_far_.validation) {
    components.pipeline->OnValidation(so_far_.validation->solve_rate);
  }
  std::optional<ValidationReport> report = Validate(components);
  if (report) components.pipeline->OnValidation(report->solve_rate);
  return report;
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

bool RunValidation::IsBest(const ValidationReport& report) const {
  return !so_far_.best || IsBetter(report, *so_far_.best, config_.best_by);
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
