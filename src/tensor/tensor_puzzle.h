// Puzzles of permutations as tensor operations, which run on any device of LibTorch.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "domain/origin_encoding.h"
#include "nn/device.h"
#include "tandem/domain.h"
#include "tandem/permutation.h"

namespace tandem {

/// TensorPuzzle does what a PermutationDomain does, on states that are tensors. A state is a row of
/// origins (OriginEncoding), one byte for each position. All results are integers and equal those
/// of the domain exactly. Rows are permuted by the device's own kernel if it has one (RowPermuter),
/// else by tensor operations, in the calling thread's current stream. Immutable; any number of
/// threads may use it. Actions are int32 or int64 tensors.
class TensorPuzzle {
 public:
  /// `domain` and `device` must outlive this. Throws InputError that names `key`, which asked for
  /// it, if the domain has no fixed permutations or an input that is not in its tables.
  TensorPuzzle(const Domain& domain, Device& device, const char* key);

  std::int64_t num_actions() const { return num_actions_; }

  /// Returns `count` copies of the goal, (count, positions).
  at::Tensor Goals(std::int64_t count) const;

  /// Returns a state as a tensor (1, positions). Nothing if no moves lead from the goal to it.
  std::optional<at::Tensor> State(std::span<const std::uint8_t> state) const;

  /// Returns states of walks from the goal, (n, positions). `actions` (steps, walks) is int32,
  /// `places` (n) int64. State i is that of walk places[i] % walks after its first
  /// places[i] / walks actions; after none, it is the goal.
  at::Tensor Walk(const at::Tensor& actions, const at::Tensor& places) const;

  /// Returns the result of actions[i] on state i.
  at::Tensor Apply(const at::Tensor& states, const at::Tensor& actions) const;

  /// Returns all children, (n * num_actions, positions), in the order of Domain::Expand.
  at::Tensor Expand(const at::Tensor& states) const;

  /// Returns the bytes of each state, (n, positions).
  at::Tensor Bytes(const at::Tensor& states) const;

  /// Returns the network's input for each state, as Domain::Encode writes it.
  at::Tensor Encode(const at::Tensor& states) const;

  /// Returns whether each state is a goal, (n) bool.
  at::Tensor IsGoal(const at::Tensor& states) const;

  /// The cost of each action, (num_actions()).
  at::Tensor ActionCosts() const { return action_costs_; }

  c10::Device device() const { return device_; }

 private:
  void MakeInputTables();

  const c10::Device device_;
  const OriginEncoding encoding_;
  const std::int64_t num_actions_;
  // Null if tensor operations do the work.
  const std::unique_ptr<RowPermuter> permuter_;
  at::Tensor bytes_;         // (positions) uint8, by origin; the goal
  at::Tensor sources_;       // (num_actions, positions) int64
  at::Tensor all_sources_;   // (num_actions * positions) int32
  at::Tensor decisive_;      // (inputs) int32, the position that decides each input
  at::Tensor second_;        // (inputs) int32, the other one; undefined if one decides each input
  at::Tensor values_;        // uint8, the tables of the inputs, by the origins of these positions
  at::Tensor first_values_;  // (inputs) int32, the index in values_ of each input
  at::Tensor action_costs_;  // (num_actions) float
};

/// StateHasher gives states 64-bit hashes that are linear: each byte times the random number of its
/// position, added modulo 2^64. An action permutes bytes, so the hash of a child is the same sum
/// with the numbers in another order, and one matrix product gives the hashes of all children.
/// CayleyPy hashes by a product with random numbers, too (Chervov et al., 2025).
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
  // (positions, num_actions + 1) double, each a whole number below 2^32. The last is for the
  // states.
  at::Tensor low_, high_;
};

}  // namespace tandem
