#include "run/validation.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "generate/generator.h"
#include "nn/threads.h"
#include "run/run_profile.h"
#include "run/value_errors.h"
#include "search/greedy.h"
#include "train/loader.h"

namespace tandem {
namespace {

constexpr std::uint64_t kOrderSeed = 0;  // the order does not affect the sums

// Returns the schema of the validation rows. As in training with a V head, the target is one
// number; here it is the number of the group.
Schema RowSchema(const Domain& domain) { return ExampleSchema(domain.spec(), Head::kV); }

}  // namespace

bool IsBetter(const ValidationResult& result, const ValidationResult& than, Measure measure) {
  const auto key = [&](const ValidationResult& r) {
    return measure == Measure::kSolveRate ? std::tuple(r.solve_rate, -r.value_error)
                                          : std::tuple(-r.value_error, r.solve_rate);
  };
  return key(result) > key(than);
}

Validator::Validator(const Domain& domain, const NetworkSpec& network, Device& device,
                     const TrainConfig& config)
    : domain_(domain),
      device_(device),
      config_(config.validation),
      threads_(static_cast<int>(*config.inference.threads)),
      evaluate_rows_(static_cast<std::size_t>(config.inference.batch_size)),
      validation_set_(MakeValidationSet(domain, config)),
      rows_(RowSchema(domain), validation_set_.lengths.size()),
      net_(network, WeightTypeFor(config.inference), device.torch()),
      evaluator_(net_, device, network, EvaluatorOptionsFor(config.inference)),
      stream_(device.MakeStream()) {
  GroupStates();
  const PrefetchConfig& prefetch = config_.prefetch;
  LoaderOptions options = LoaderOptionsFor(prefetch, config_.batch_size, kOrderSeed);
  options.thread_name = kValidationPrefetch;
  loader_ = MakeLoader(device, rows_.schema(), prefetch.enabled, options);
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

ValidationReport Validator::Validate(const ResNetFC& net, const StopSignal& stop) {
  net_.CopyFrom(net);
  std::vector<std::int64_t> most = validation_set_.lengths;
  for (std::int64_t& length : most) length *= 2;
  const auto taken =
      DescendGreedily(domain_, evaluator_, evaluate_rows_, validation_set_.rows(), most, stop);
  const auto solved = std::ranges::count_if(taken, [](const auto& t) { return t.has_value(); });
  ValidationReport report;
  report.solve_rate = static_cast<double>(solved) / static_cast<double>(taken.size());
  MeasureValueErrors(report);
  return report;
}

void Validator::MeasureValueErrors(ValidationReport& report) {
  const ScopedThreads threads(threads_);
  const std::unique_ptr<StreamScope> scope = stream_->Enter();
  std::vector<float> costs;
  for (const Group& group : groups_) costs.push_back(group.cost);
  const auto errors = MakeSquaredErrors(config_.metrics, costs, device_.torch());
  const std::unique_ptr<BatchIterator> batches = loader_->Open(rows_, 0);
  const auto rows = static_cast<std::int64_t>(rows_.rows());
  for (std::int64_t done = 0; done < rows; done += config_.batch_size) {
    const Batch batch = batches->Next();
    errors->Add(net_.Forward(batch.inputs).amin(1), batch.targets);
  }
  const std::vector<double> sums = errors->Sums();
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

}  // namespace tandem
