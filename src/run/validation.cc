#include "run/validation.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/random.h"
#include "generate/random_walk.h"
#include "search/greedy.h"

namespace tandem {
namespace {

constexpr std::uint64_t kSeed = 0;  // not the run's: results of different runs compare

at::ScalarType TypeOf(Precision precision) {
  return precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
}

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
      net_(network, TypeOf(config.evaluate.precision), device.torch()),
      evaluator_(net_, device, network,
                 {.batch_rows = config.evaluate.batch_rows,
                  .threads = static_cast<int>(*config.evaluate.threads)}) {
  const auto count = static_cast<std::size_t>(config.validation.states);
  const auto state_size = static_cast<std::size_t>(domain.spec().state_size);
  states_.resize(count * state_size);
  const Rows states(states_.data(), count, state_size);
  for (std::size_t i = 0; i < count; ++i) {
    lengths_.push_back(1 + static_cast<std::int64_t>(i) % config.generate.max_scramble);
    RandomWalk walk(domain, Random(kSeed, Purpose::kValidation, 0, i), states[i]);
    for (std::int64_t step = 0; step < lengths_[i]; ++step) walk.Step();
  }
}

ValidationResult Validator::Validate(const ResNetFC& net, const StopSignal& stop) {
  net_.CopyFrom(net);
  device_.Synchronize();  // evaluations run on another stream
  const ConstRows states(states_.data(), lengths_.size(), states_.size() / lengths_.size());
  std::vector<std::int64_t> most = lengths_;
  for (std::int64_t& length : most) length *= 2;
  const auto taken = DescendGreedily(domain_, evaluator_, states, most, stop);
  const auto solved = std::ranges::count_if(taken, [](const auto& t) { return t.has_value(); });
  return {.solve_rate = static_cast<double>(solved) / static_cast<double>(lengths_.size()),
          .value_error = ValueError()};
}

double Validator::ValueError() {
  const ConstRows states(states_.data(), lengths_.size(), states_.size() / lengths_.size());
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  std::vector<std::uint8_t> inputs(lengths_.size() * input_size);
  domain_.Encode(states, Rows(inputs.data(), lengths_.size(), input_size));
  std::vector<float> values(lengths_.size());
  evaluator_.Evaluate(ConstRows(inputs.data(), lengths_.size(), input_size), values);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scramble_cost = static_cast<double>(lengths_[i]) * domain_.spec().action_cost;
    sum += (values[i] - scramble_cost) * (values[i] - scramble_cost);
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace tandem
