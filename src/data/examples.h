// The columns of training examples, with which generators, loaders and shards agree.
#pragma once

#include <cstddef>

#include "config/config.h"
#include "data/data_buffer.h"
#include "tandem/domain.h"

namespace tandem {

/// The number of floats in the label of a row. For a V net it is 1: the state's cost-to-go. For a Q
/// net it is num_actions: each action's cost plus its child's cost-to-go, also if the state is a
/// goal.
std::size_t TargetWidth(const DomainSpec& spec, Head head);

/// The columns of a training example: the network's input and its target.
inline constexpr std::size_t kInputColumn = 0;
inline constexpr std::size_t kTargetColumn = 1;
Schema ExampleSchema(const DomainSpec& spec, Head head = Head::kV);

/// The columns of a state that is stored unlabelled, to be labelled when it is trained on: its
/// bytes and an upper bound on its cost-to-go, which is infinite if none is known.
inline constexpr std::size_t kStateColumn = 0;
inline constexpr std::size_t kBoundColumn = 1;
Schema StateSchema(const DomainSpec& spec);

}  // namespace tandem
