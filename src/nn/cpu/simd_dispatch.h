// How the sources of passes (passes.h) make a version of each pass for each instruction set.
// Only those sources include this header.
//
// A source defines `Run` of each of its passes, a plain loop that the compiler vectorises, and
// instantiates the pass with TANDEM_PASS. Each `Run` is inlined into one function per instruction
// set, and whatever it calls must be inlined too (TANDEM_INLINE): a function of its own would be
// compiled for the baseline. `Run` is found by the type of its argument, so it is not in an unnamed
// namespace. Sums over a row need `omp simd`, which lets the compiler change their order.
#pragma once

#include <cstdint>

#include "nn/cpu/passes.h"

#define TANDEM_INLINE [[gnu::always_inline]] inline

namespace tandem {

/// Registers are those of an instruction set, which hold kLanes numbers of 32 bits. Passes whose
/// sums must stay in registers keep them in vectors of this size, and take them as an argument of
/// `Run`. GCC keeps larger vectors in memory, and stores an array of floats after each row.
template <std::int64_t kLanes>
struct Registers {
  using Floats [[gnu::vector_size(4 * kLanes)]] = float;
  using Words [[gnu::vector_size(4 * kLanes)]] = std::uint32_t;

  /// How many numbers to add up at a time, in half of all registers: AVX-512 has 32, others 16.
  static constexpr std::int64_t kSums = kLanes == 16 ? 16 * kLanes : 8 * kLanes;
};

/// Runs a pass on its own copy of the description: the compiler sees that no store changes it, so
/// it does not load a width or a pointer again after each store.
template <std::int64_t kLanes, class Pass>
TANDEM_INLINE void RunCopy(const Pass pass) {
  if constexpr (requires { Run(pass, Registers<kLanes>{}); }) {
    Run(pass, Registers<kLanes>{});
  } else {
    Run(pass);
  }
}

#if defined(__x86_64__)
// Without the last setting, GCC uses half of a register of AVX-512.
template <class Pass>
__attribute__((
    target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512"))) static void
RunAvx512(const Pass& pass) {
  RunCopy<16>(pass);
}

template <class Pass>
__attribute__((target("avx2,fma"))) static void RunAvx2(const Pass& pass) {
  RunCopy<8>(pass);
}
#endif

template <class Pass>
void RunPass(const Pass& pass, [[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kAvx512) return RunAvx512(pass);
  if (set == InstructionSet::kAvx2) return RunAvx2(pass);
#endif
  RunCopy<4>(pass);
}

template <class Pass>
void RunPass(const Pass& pass) {
  static const InstructionSet best = BestInstructionSet();
  RunPass(pass, best);
}

}  // namespace tandem

/// Instantiates a pass, in namespace tandem.
#define TANDEM_PASS(Pass)             \
  template void RunPass(const Pass&); \
  template void RunPass(const Pass&, InstructionSet)
