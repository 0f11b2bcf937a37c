#include "generate/generator.h"

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

}  // namespace tandem
