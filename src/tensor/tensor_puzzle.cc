#include "tensor/tensor_puzzle.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "domain/permute.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr std::int64_t kStatesAtOnce = 1 << 16;  // bounds the memory for bytes in double precision
constexpr std::int64_t k2To32 = std::int64_t{1} << 32;

const PermutationDomain& PermutationsOf(const Domain& domain, const char* key) {
  const auto* const permutations = dynamic_cast<const PermutationDomain*>(&domain);
  if (permutations == nullptr || domain.spec().masks_actions || domain.spec().per_problem_goals) {
    throw InputError(fmt::format(
        "`{}: tensor`: the actions of {} are not fixed permutations, expected a puzzle such as "
        "cube3 or one of domain permutation. Set {} to domain.",
        key, domain.spec().name, key));
  }
  return *permutations;
}

template <class Number>
at::Tensor ToTensor(const std::vector<Number>& numbers, at::ScalarType type, c10::Device device) {
  const at::Tensor tensor =
      at::empty({static_cast<std::int64_t>(numbers.size())}, at::TensorOptions().dtype(type));
  std::ranges::copy(numbers, tensor.mutable_data_ptr<Number>());
  return tensor.to(device);
}

}  // namespace

TensorPuzzle::TensorPuzzle(const Domain& domain, Device& device, const char* key)
    : device_(device.torch()),
      encoding_(PermutationsOf(domain, key)),
      num_actions_(domain.spec().num_actions()),
      permuter_(device.MakePermuter(PermutationsOf(domain, key).table())) {
  const DomainSpec& spec = domain.spec();
  const PermutationTable& table = PermutationsOf(domain, key).table();
  const auto positions = static_cast<std::int64_t>(spec.state_size);
  std::vector<std::int64_t> sources;
  for (std::int64_t a = 0; a < num_actions_; ++a) {
    const auto of_action = table.sources(static_cast<Action>(a));
    sources.insert(sources.end(), of_action.begin(), of_action.end());
  }
  all_sources_ =
      ToTensor(std::vector<std::int32_t>(sources.begin(), sources.end()), at::kInt, device_);
  sources_ = ToTensor(sources, at::kLong, device_).view({num_actions_, positions});
  action_costs_ = ToTensor(spec.action_costs, at::kFloat, device_);
  bytes_ = ToTensor(encoding_.bytes(), at::kByte, device_);
  MakeInputTables();
}

// If two positions decide some input, all tables have two dimensions; where one position decides,
// it is both.
void TensorPuzzle::MakeInputTables() {
  const std::vector<OriginEncoding::InputTable> inputs = encoding_.inputs();
  const auto size = static_cast<std::size_t>(bytes_.size(0));
  const bool in_pairs = std::ranges::any_of(
      inputs, [](const OriginEncoding::InputTable& input) { return input.second.has_value(); });
  std::vector<std::int32_t> decisive;
  std::vector<std::int32_t> second;
  std::vector<std::int32_t> first_values;
  std::vector<std::uint8_t> values;
  for (const OriginEncoding::InputTable& input : inputs) {
    decisive.push_back(static_cast<std::int32_t>(input.position));
    second.push_back(static_cast<std::int32_t>(input.second.value_or(input.position)));
    first_values.push_back(static_cast<std::int32_t>(values.size()));
    std::vector<std::uint8_t> table = input.values;
    if (in_pairs && !input.second) {
      table.assign(size * size, 0);
      for (std::size_t i = 0; i < size; ++i) table[i * size + i] = input.values[i];
    }
    values.insert(values.end(), table.begin(), table.end());
  }
  decisive_ = ToTensor(decisive, at::kInt, device_);
  if (in_pairs) second_ = ToTensor(second, at::kInt, device_);
  first_values_ = ToTensor(first_values, at::kInt, device_);
  values_ = ToTensor(values, at::kByte, device_);
}

at::Tensor TensorPuzzle::Goals(std::int64_t count) const {
  const auto type = at::TensorOptions().dtype(at::kByte).device(device_);
  const std::int64_t positions = bytes_.size(0);
  return at::arange(positions, type).unsqueeze(0).expand({count, positions}).contiguous();
}

std::optional<at::Tensor> TensorPuzzle::State(std::span<const std::uint8_t> state) const {
  const std::optional<std::vector<std::uint8_t>> origins = encoding_.OriginsOf(state);
  if (!origins) return std::nullopt;
  return ToTensor(*origins, at::kByte, device_).unsqueeze(0);
}

at::Tensor TensorPuzzle::Walk(const at::Tensor& actions, const at::Tensor& places) const {
  at::Tensor states = at::empty({places.size(0), bytes_.size(0)}, bytes_.options());
  if (permuter_ != nullptr) {
    permuter_->Walk(actions.contiguous(), places.contiguous(), states);
    return states;
  }
  const std::int64_t walks = actions.size(1);
  const at::Tensor lengths = places.floor_divide(walks);
  const at::Tensor of_walks = places.remainder(walks);
  at::Tensor reached = Goals(walks);
  for (std::int64_t length = 0; length <= actions.size(0); ++length) {
    if (length > 0) reached = Apply(reached, actions[length - 1]);
    const at::Tensor rows = lengths.eq(length).nonzero().squeeze(1);
    states.index_copy_(0, rows, reached.index_select(0, of_walks.index_select(0, rows)));
  }
  return states;
}

at::Tensor TensorPuzzle::Apply(const at::Tensor& states, const at::Tensor& actions) const {
  if (permuter_ != nullptr) {
    at::Tensor after = states.clone();
    permuter_->Apply(after, actions.to(at::kShort));
    return after;
  }
  return states.gather(1, sources_.index_select(0, actions));
}

at::Tensor TensorPuzzle::Expand(const at::Tensor& states) const {
  if (permuter_ != nullptr) {
    at::Tensor children =
        at::empty({states.size(0) * num_actions_, states.size(1)}, states.options());
    permuter_->Expand(states.contiguous(), children);
    return children;
  }
  return states.index_select(1, all_sources_).view({states.size(0) * num_actions_, states.size(1)});
}

at::Tensor TensorPuzzle::Bytes(const at::Tensor& states) const {
  return bytes_.index_select(0, states.flatten().to(at::kInt)).view(states.sizes());
}

at::Tensor TensorPuzzle::Encode(const at::Tensor& states) const {
  at::Tensor index = states.index_select(1, decisive_).to(at::kInt);
  if (second_.defined()) index.mul_(bytes_.size(0)).add_(states.index_select(1, second_));
  index.add_(first_values_);
  return values_.index_select(0, index.flatten()).view(index.sizes());
}

at::Tensor TensorPuzzle::IsGoal(const at::Tensor& states) const {
  return (Bytes(states) == bytes_).all(1);
}

StateHasher::StateHasher(const PermutationDomain& domain, c10::Device device)
    : num_actions_(domain.spec().num_actions()) {
  const PermutationTable& table = domain.table();
  const auto positions = static_cast<std::int64_t>(table.positions());
  const auto type = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor low = at::zeros({positions, num_actions_ + 1}, type);
  const at::Tensor high = at::zeros({positions, num_actions_ + 1}, type);
  auto* const lows = low.mutable_data_ptr<double>();
  auto* const highs = high.mutable_data_ptr<double>();
  Random random(0, Purpose::kHash);
  for (std::int64_t to = 0; to < positions; ++to) {
    const std::uint64_t number = random.Next();
    for (std::int64_t a = 0; a <= num_actions_; ++a) {
      const std::int64_t from =
          a < num_actions_ ? table.sources(static_cast<Action>(a))[static_cast<std::size_t>(to)]
                           : to;
      lows[from * (num_actions_ + 1) + a] = static_cast<double>(number % k2To32);
      highs[from * (num_actions_ + 1) + a] = static_cast<double>(number >> 32);
    }
  }
  low_ = low.to(device);
  high_ = high.to(device);
}

at::Tensor StateHasher::HashStates(const at::Tensor& bytes) const {
  return Hash(bytes, num_actions_, 1).squeeze(1);
}

at::Tensor StateHasher::HashChildren(const at::Tensor& bytes) const {
  return Hash(bytes, 0, num_actions_);
}

// A sum has at most 256 terms below 2^8 * 2^32, and doubles hold whole numbers up to 2^53.
at::Tensor StateHasher::Hash(const at::Tensor& bytes, std::int64_t first,
                             std::int64_t count) const {
  std::vector<at::Tensor> hashes;
  for (std::int64_t row = 0; row < bytes.size(0); row += kStatesAtOnce) {
    const std::int64_t rows = std::min(kStatesAtOnce, bytes.size(0) - row);
    const at::Tensor numbers = bytes.narrow(0, row, rows).to(at::kDouble);
    const auto sums = [&](const at::Tensor& factors) {
      return numbers.mm(factors.narrow(1, first, count)).to(at::kLong);
    };
    hashes.push_back(sums(low_) + sums(high_) * k2To32);
  }
  return at::cat(hashes);
}

}  // namespace tandem
