#include "data/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tandem/error.h"

namespace tandem {
namespace {

// Throws Error that names the first number of column `column` that is not finite or is below 0.
void CheckNumbers(const DataBuffer& examples, std::size_t column, std::string_view where,
                  std::string_view advice) {
  const std::span<const float> numbers = examples.floats(column);
  // False also for NaN, with which every comparison is false.
  const auto is_valid = [](float number) {
    return number >= 0 && number <= std::numeric_limits<float>::max();
  };
  const auto wrong = std::ranges::find_if_not(numbers, is_valid);
  if (wrong == numbers.end()) return;
  const std::size_t width = examples.schema().columns[column].width;
  const auto index = static_cast<std::size_t>(wrong - numbers.begin());
  throw Error(fmt::format(
      "{}: {} {} of row {} is {}, expected a finite number of at least 0; the network's input in "
      "this row is {}. {}",
      where, examples.schema().columns[column].name, index % width, index / width, *wrong,
      fmt::join(examples.column(kInputColumn)[index / width], " "), advice));
}

}  // namespace

std::size_t TargetWidth(const DomainSpec& spec, Head head) {
  return TraitsOf(head).num_outputs(static_cast<std::size_t>(spec.num_actions()));
}

int ActionPositions(int num_actions, int depth) { return num_actions <= depth ? 1 : num_actions; }

InputLayout InputFor(const DomainSpec& spec, Head head) {
  InputLayout layout = spec.input;
  if (!TakesAction(head)) return layout;
  layout.depth = std::max(layout.depth, 2);  // the positions of an action hold at least 0 and 1
  layout.positions += ActionPositions(spec.num_actions(), layout.depth);
  return layout;
}

void EncodeAction(Action action, std::span<std::uint8_t> positions) {
  if (positions.size() == 1) {
    positions[0] = static_cast<std::uint8_t>(action);
    return;
  }
  std::ranges::fill(positions, std::uint8_t{0});
  positions[action] = 1;
}

Action DecodeAction(std::span<const std::uint8_t> positions) {
  if (positions.size() == 1) return positions[0];
  return static_cast<Action>(std::ranges::find(positions, 1) - positions.begin());
}

void EncodeInputs(const Domain& domain, ConstRows states, std::span<const Action> actions,
                  Rows inputs) {
  const auto of_state = static_cast<std::size_t>(domain.spec().input.positions);
  if (inputs.row_size() == of_state) {
    domain.Encode(states, inputs);
    return;
  }
  std::vector<std::uint8_t> memory(states.size() * of_state);
  const Rows encoded(memory.data(), states.size(), of_state);
  domain.Encode(states, encoded);
  for (std::size_t i = 0; i < states.size(); ++i) {
    std::ranges::copy(encoded[i], inputs[i].begin());
    EncodeAction(actions[i], inputs[i].subspan(of_state));
  }
}

Schema ExampleSchema(const DomainSpec& spec, Head head, bool weighted) {
  const std::size_t outputs = TargetWidth(spec, head);
  Schema schema{.columns = {{.name = "input",
                             .type = ElementType::kUint8,
                             .width = static_cast<std::size_t>(InputFor(spec, head).positions)},
                            {.name = "target", .type = ElementType::kFloat32, .width = outputs}}};
  if (weighted) {
    schema.columns.push_back({.name = "weight", .type = ElementType::kFloat32, .width = outputs});
  }
  return schema;
}

Schema ExampleSchema(const DomainSpec& spec, const Config& config) {
  const Head head = config.network.head;
  const bool has_hindsight = TraitsOf(head).values_all_actions() && config.generate.hindsight &&
                             !LabelsWhenTraining(config.pipeline.mode);
  return ExampleSchema(spec, head,
                       has_hindsight || LabelsSomeOutputs(config.generate.target, head));
}

Action ActionIn(const DomainSpec& spec, const DataBuffer& examples, std::size_t row) {
  return DecodeAction(
      examples.column(kInputColumn)[row].subspan(static_cast<std::size_t>(spec.input.positions)));
}

void LabelAllOutputs(DataBuffer& examples, std::size_t row) {
  if (!HasWeights(examples.schema())) return;
  std::ranges::fill(examples.floats(kWeightColumn, row), 1.0F);
}

bool HasTargets(const Schema& schema) {
  return schema.columns.size() > kTargetColumn && schema.columns[kTargetColumn].name == "target";
}

void CheckTargets(const DataBuffer& examples, std::string_view where) {
  CheckNumbers(examples, kTargetColumn, where,
               "Check the costs of the puzzle's actions, and where the labels come from.");
}

void CheckInputs(ConstRows inputs, int depth, std::string_view where) {
  const std::span<const std::uint8_t> bytes = inputs.bytes();
  std::uint8_t most = 0;  // a plain loop, which compilers turn into vector instructions
  for (const std::uint8_t byte : bytes) most = std::max(most, byte);
  if (most < depth || bytes.empty()) return;
  const auto wrong =
      std::ranges::find_if(bytes, [depth](std::uint8_t byte) { return byte >= depth; });
  throw Error(fmt::format(
      "{}: row {} of the network's input has a byte {}; expected values below {}. The examples are "
      "damaged or belong to another puzzle, or the puzzle's Encode is wrong.",
      where, static_cast<std::size_t>(wrong - bytes.begin()) / inputs.row_size(), *wrong, depth));
}

void CheckExamples(const DataBuffer& examples, int depth, std::string_view where) {
  CheckInputs(examples.column(kInputColumn), depth, where);
  CheckTargets(examples, where);
  if (!HasWeights(examples.schema())) return;
  CheckNumbers(examples, kWeightColumn, where,
               "The examples are damaged. `tandem generate` makes shards again.");
}

Schema StateSchema(const DomainSpec& spec) {
  return {.columns = {{.name = "state",
                       .type = ElementType::kUint8,
                       .width = static_cast<std::size_t>(spec.state_size)},
                      {.name = "bound", .type = ElementType::kFloat32, .width = 1}}};
}

}  // namespace tandem
