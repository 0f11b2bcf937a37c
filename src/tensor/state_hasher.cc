#include "tensor/state_hasher.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "domain/permute.h"

namespace tandem {
namespace {

constexpr std::int64_t kStatesAtOnce = 1 << 16;  // bounds the memory for bytes in double precision
constexpr std::int64_t k2To32 = std::int64_t{1} << 32;

}  // namespace

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
