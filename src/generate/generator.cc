#include "generate/generator.h"

#include "generate/value_iteration.h"
#include "generate/walk_length.h"

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

std::unique_ptr<Generator> MakeGenerator(const Domain& domain, const Config& config,
                                         Evaluator* network) {
  switch (config.generate.target) {
    case Target::kWalkLength:
      return std::make_unique<WalkLengthGenerator>(domain, config);
    case Target::kValueIteration:
    case Target::kCappedValueIteration:
      return std::make_unique<ValueIterationGenerator>(domain, *network, config);
  }
  return nullptr;  // not reached: the compiler warns of a missing case
}

}  // namespace tandem
