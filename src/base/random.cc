#include "base/random.h"

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tandem {

void Random::DrawBlock() {
  block_ = r123::Philox4x64{}(counter_, key_);
  ++counter_[0];
  used_ = 0;
}

#if defined(__x86_64__)

#define TANDEM_AVX512 __attribute__((target("avx512f")))

namespace {

// A word of each of eight streams.
using Eight __attribute__((vector_size(64))) = std::uint64_t;

constexpr std::size_t kLanes = 8;
constexpr std::uint64_t kLowHalf = 0xFFFFFFFF;

struct Product {
  Eight low, high;
};

// The product of the lower 32 bits of each word. GCC 12 warns about the form without a mask.
TANDEM_AVX512 inline Eight MultiplyHalves(Eight a, std::uint64_t factor) {
  const auto factors = _mm512_set1_epi64(static_cast<std::int64_t>(factor));
  return reinterpret_cast<Eight>(
      _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), factors));
}

// The 128 bits of the product of each word.
TANDEM_AVX512 inline Product Multiply(Eight a, std::uint64_t factor) {
  const Eight low_low = MultiplyHalves(a, factor);
  const Eight low_high = MultiplyHalves(a, factor >> 32);
  const Eight middle = MultiplyHalves(a >> 32, factor) + (low_low >> 32) + (low_high & kLowHalf);
  return {.low = (middle << 32) | (low_low & kLowHalf),
          .high = MultiplyHalves(a >> 32, factor >> 32) + (low_high >> 32) + (middle >> 32)};
}

// Philox4x64-10 of the counters of eight streams, with the constants of Random123's philox.h.
TANDEM_AVX512 void EightBlocks(std::array<Eight, 2> key, std::array<Eight, 4>& counter) {
  constexpr int kRounds = 10;
  auto [word0, word1, word2, word3] = counter;
  for (int round = 0; round < kRounds; ++round) {
    const Product first = Multiply(word0, PHILOX_M4x64_0);
    const Product second = Multiply(word2, PHILOX_M4x64_1);
    word0 = second.high ^ word1 ^ key[0];
    word1 = second.low;
    word2 = first.high ^ word3 ^ key[1];
    word3 = first.low;
    key[0] += PHILOX_W64_0;
    key[1] += PHILOX_W64_1;
  }
  counter = {word0, word1, word2, word3};
}

}  // namespace

TANDEM_AVX512 void Random::DrawEight(std::span<Random> streams) {
  std::array<Eight, 2> keys{};
  std::array<Eight, 4> blocks{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t w = 0; w < 2; ++w) keys[w][lane] = streams[lane].key_[w];
    for (std::size_t w = 0; w < 4; ++w) blocks[w][lane] = streams[lane].counter_[w];
  }
  EightBlocks(keys, blocks);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t w = 0; w < 4; ++w) streams[lane].block_[w] = blocks[w][lane];
    ++streams[lane].counter_[0];
    streams[lane].used_ = 0;
  }
}

void Random::DrawAhead(std::span<Random> streams) {
  if (!__builtin_cpu_supports("avx512f")) return;
  const auto is_empty = [](const Random& stream) { return stream.used_ == stream.block_.size(); };
  for (; streams.size() >= kLanes; streams = streams.subspan(kLanes)) {
    const std::span<Random> eight = streams.first(kLanes);
    if (std::ranges::all_of(eight, is_empty)) DrawEight(eight);
  }
}

#else

void Random::DrawAhead(std::span<Random> /*streams*/) {}

#endif

}  // namespace tandem
