// How a pass over the numbers of a fused training step (fused_step.h) or evaluation (fused_copy.h)
// runs with the best instruction set of this machine. The code does not need LibTorch.
//
// A pass is a struct that says which numbers to read and where to write. Some are about activations
// (activation_passes.h), the gathered first layer (gather_passes.h), operands of products
// (operand_passes.h) or whole numbers (quantize_passes.h).
#pragma once

namespace tandem {

/// InstructionSet lists the instruction sets that passes have versions for, in ascending order.
/// kBaseline is what every processor of the architecture has.
enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

/// Returns the last instruction set that this machine has.
inline InstructionSet BestInstructionSet() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kBaseline;
}

/// Runs a pass on the calling thread, in the version for the best instruction set of this machine.
/// The results depend on the instruction set, because sums over a row are split among the lanes of
/// a vector register.
template <class Pass>
void RunPass(const Pass& pass);

/// Runs a pass with `set`, which this machine must have.
template <class Pass>
void RunPass(const Pass& pass, InstructionSet set);

}  // namespace tandem
