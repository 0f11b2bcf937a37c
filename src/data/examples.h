// The columns of training examples, which generators, loaders and shards share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "config/config.h"
#include "data/data_buffer.h"
#include "tandem/domain.h"

namespace tandem {

/// The number of floats in the label of a row, and of outputs of a network. For a V net it is 1:
/// the state's cost-to-go. For a Q net it is num_actions: each action's cost plus its child's
/// cost-to-go, also if the state is a goal. For a policy it is num_actions: the probability of each
/// action. For head vp it is the sum of the two: the state's cost-to-go, then the probabilities.
/// For head q_in it is 1: the value of the action in the input.
std::size_t TargetWidth(const DomainSpec& spec, Head head);

/// The layout of the network's input: that of the state and, if the head takes an action, the
/// positions of the action after it.
InputLayout InputFor(const DomainSpec& spec, Head head);

/// The number of positions of an action: 1, which holds the action's number, if there are at most
/// `depth` actions, else one for each action, of which one is 1. Both are one-hot for the network.
int ActionPositions(int num_actions, int depth);

/// Writes an action to the positions that follow the state's.
void EncodeAction(Action action, std::span<std::uint8_t> positions);

/// The action that EncodeAction wrote.
Action DecodeAction(std::span<const std::uint8_t> positions);

/// Writes the network's input for each state, with actions[i] if `inputs` has room for an action.
void EncodeInputs(const Domain& domain, ConstRows states, std::span<const Action> actions,
                  Rows inputs);

/// The columns of a training example: the network's input, its target and, if rows label only some
/// of the outputs, the weight of each output in the loss. A weight of 0 masks the output.
inline constexpr std::size_t kInputColumn = 0;
inline constexpr std::size_t kTargetColumn = 1;
inline constexpr std::size_t kWeightColumn = 2;
Schema ExampleSchema(const DomainSpec& spec, Head head = Head::kV, bool weighted = false);

/// The columns of the examples that generate.target makes for network.head.
Schema ExampleSchema(const DomainSpec& spec, const Config& config);

/// The action in the input of row `row` of `examples`, for a head that takes one.
Action ActionIn(const DomainSpec& spec, const DataBuffer& examples, std::size_t row);

/// Whether examples of this schema have weights.
inline bool HasWeights(const Schema& schema) { return schema.columns.size() > kWeightColumn; }

/// Makes every output of row `row` count in the loss: sets its weights, if there are any, to 1.
void LabelAllOutputs(DataBuffer& examples, std::size_t row);

/// Whether rows of this schema are labelled.
bool HasTargets(const Schema& schema);

/// Throws Error that names the first example whose target is not a finite number of at least 0, as
/// costs and probabilities are. `where` says which rows these are: "the rows of update 3".
void CheckTargets(const DataBuffer& examples, std::string_view where);

/// Throws Error that names the first row with a byte that is not below `depth`, the depth of the
/// network's input. Layers that gather rows of a matrix use the bytes as indices.
void CheckInputs(ConstRows inputs, int depth, std::string_view where);

/// Checks examples that were read from `where`: inputs, targets and, if there are any, weights. A
/// weight must be a finite number of at least 0, or the loss would become NaN or training would
/// move away from a label.
void CheckExamples(const DataBuffer& examples, int depth, std::string_view where);

/// The columns of a state that is stored unlabelled, to be labelled when it is trained on: its
/// bytes and an upper bound on its cost-to-go, which is infinite if none is known.
inline constexpr std::size_t kStateColumn = 0;
inline constexpr std::size_t kBoundColumn = 1;
Schema StateSchema(const DomainSpec& spec);

}  // namespace tandem
