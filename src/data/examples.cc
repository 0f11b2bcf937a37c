#include "data/examples.h"

namespace tandem {

std::size_t TargetWidth(const DomainSpec& spec, Head head) {
  const auto num_actions = static_cast<std::size_t>(spec.num_actions());
  switch (head) {
    case Head::kV:
      return 1;
    case Head::kQ:
    case Head::kPolicy:
      return num_actions;
    case Head::kVp:
      return 1 + num_actions;
  }
  return 0;  // not reached: the compiler warns of a missing case
}

Schema ExampleSchema(const DomainSpec& spec, Head head, bool weighted) {
  const std::size_t outputs = TargetWidth(spec, head);
  Schema schema{.columns = {{.name = "input",
                             .type = ElementType::kUint8,
                             .width = static_cast<std::size_t>(spec.input.positions)},
                            {.name = "target", .type = ElementType::kFloat32, .width = outputs}}};
  if (weighted) {
    schema.columns.push_back({.name = "weight", .type = ElementType::kFloat32, .width = outputs});
  }
  return schema;
}

Schema ExampleSchema(const DomainSpec& spec, const Config& config) {
  const Head head = config.network.head;
  return ExampleSchema(spec, head, LabelsSomeOutputs(config.generate.target, head));
}

Schema StateSchema(const DomainSpec& spec) {
  return {.columns = {{.name = "state",
                       .type = ElementType::kUint8,
                       .width = static_cast<std::size_t>(spec.state_size)},
                      {.name = "bound", .type = ElementType::kFloat32, .width = 1}}};
}

}  // namespace tandem
