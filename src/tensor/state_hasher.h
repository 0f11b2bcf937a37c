// Hashes of states and of all their children, by two matrix products.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

#include "tandem/permutation.h"

namespace tandem {

/// StateHasher gives states 64-bit hashes that are linear: each byte times the random number of its
/// position, added modulo 2^64. An action permutes bytes, so the hash of a child is the same sum
/// over the parent's bytes with the numbers in another order, and one matrix product gives the
/// hashes of all children without making the children. CayleyPy hashes by a product with random
/// numbers, too (Chervov et al., 2025).
///
/// The products are exact: they are in double precision, with 32 bits of the random numbers at a
/// time. The chance that two given states have the same hash is at most 2^-57, and 2^-64 if they
/// differ by an odd number somewhere.
class StateHasher {
 public:
  StateHasher(const PermutationDomain& domain, c10::Device device);

  /// Maps the bytes of states (n, positions) to their hashes (n), int64.
  at::Tensor HashStates(const at::Tensor& bytes) const;

  /// Maps the bytes of states (n, positions) to the hashes of their children (n, num_actions).
  at::Tensor HashChildren(const at::Tensor& bytes) const;

 private:
  at::Tensor Hash(const at::Tensor& bytes, std::int64_t first, std::int64_t count) const;

  const std::int64_t num_actions_;
  // (positions, num_actions + 1) double, each a whole number below 2^32. The last column is for the
  // states themselves.
  at::Tensor low_, high_;
};

}  // namespace tandem
