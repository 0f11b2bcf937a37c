#include "generate/generator.h"

namespace tandem {

Schema ExampleSchema(const DomainSpec& spec) {
  return {.columns = {{.name = "input",
                       .type = ElementType::kUint8,
                       .width = static_cast<std::size_t>(spec.input.positions)},
                      {.name = "target", .type = ElementType::kFloat32, .width = 1}}};
}

}  // namespace tandem
