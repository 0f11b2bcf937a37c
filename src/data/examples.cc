#include "data/examples.h"

namespace tandem {

std::size_t TargetWidth(const DomainSpec& spec, Head head) {
  return head == Head::kQ ? static_cast<std::size_t>(spec.num_actions()) : 1;
}

Schema ExampleSchema(const DomainSpec& spec, Head head) {
  return {.columns = {
              {.name = "input",
               .type = ElementType::kUint8,
               .width = static_cast<std::size_t>(spec.input.positions)},
              {.name = "target", .type = ElementType::kFloat32, .width = TargetWidth(spec, head)}}};
}

Schema StateSchema(const DomainSpec& spec) {
  return {.columns = {{.name = "state",
                       .type = ElementType::kUint8,
                       .width = static_cast<std::size_t>(spec.state_size)},
                      {.name = "bound", .type = ElementType::kFloat32, .width = 1}}};
}

}  // namespace tandem
