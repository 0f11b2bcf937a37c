// Compares passes that keep sums in registers with plain loops, for every instruction set that this
// machine has.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "nn/bf16.h"
#include "nn/cpu/passes.h"

namespace tandem {
namespace {

constexpr std::int64_t kPassRows = 21;
constexpr std::int64_t kPositions = 7;
constexpr std::int64_t kDepth = 3;

std::size_t Size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Multiples of 1/8, which bf16 holds exactly and whose sums do not depend on the order.
template <class T>
T Number(int eighths) {
  const float number = static_cast<float>(eighths) / 8;
  if constexpr (kIsBf16<T>) {
    return static_cast<Bf16>(std::bit_cast<std::uint32_t>(number) >> 16);
  } else {
    return number;
  }
}

class Passes : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (GetParam() > BestInstructionSet()) GTEST_SKIP() << "this machine does not have it";
  }

  template <class T>
  std::vector<T> Numbers(std::int64_t count) {
    std::uniform_int_distribution<int> eighths(-16, 16);
    std::vector<T> numbers(Size(count));
    for (T& number : numbers) number = Number<T>(eighths(engine_));
    return numbers;
  }

  std::vector<std::uint8_t> Bytes() {
    std::uniform_int_distribution<int> byte(0, kDepth - 1);
    std::vector<std::uint8_t> bytes(Size(kPassRows * kPositions));
    for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(byte(engine_));
    return bytes;
  }

  template <class T>
  void ExpectGatheredSums(std::int64_t width) {
    const auto bytes = Bytes();
    const auto matrix = Numbers<T>(kPositions * kDepth * width);
    std::vector<float> expected(Size(kPassRows * width));
    for (std::int64_t r = 0; r < kPassRows; ++r) {
      for (std::int64_t i = 0; i < kPositions; ++i) {
        const std::int64_t feature = i * kDepth + bytes[Size(r * kPositions + i)];
        for (std::int64_t c = 0; c < width; ++c) {
          expected[Size(r * width + c)] += Widen(matrix[Size(feature * width + c)]);
        }
      }
    }
    std::vector<float> sums(expected.size());
    RunPass(GatherRows<T>{.rows = kPassRows,
                          .positions = kPositions,
                          .depth = kDepth,
                          .width = width,
                          .bytes = bytes.data(),
                          .matrix = matrix.data(),
                          .sums = sums.data()},
            GetParam());
    EXPECT_EQ(sums, expected) << "width " << width;
  }

  template <class T>
  void ExpectScatteredSums(std::int64_t width) {
    const auto bytes = Bytes();
    const auto gradient = Numbers<T>(kPassRows * width);
    const std::int64_t stride = width + 5;
    auto expected = Numbers<float>(kDepth * stride);
    auto into = expected;
    constexpr std::int64_t kPosition = 4;
    for (std::int64_t r = 0; r < kPassRows; ++r) {
      const std::int64_t value = bytes[Size(r * kPositions + kPosition)];
      for (std::int64_t c = 0; c < width; ++c) {
        expected[Size(value * stride + c)] += Widen(gradient[Size(r * width + c)]);
      }
    }
    std::vector<std::uint32_t> order(kPassRows);
    std::vector<std::uint32_t> ends(kDepth);
    RunPass(SortRows{.rows = kPassRows,
                     .positions = kPositions,
                     .position = kPosition,
                     .depth = kDepth,
                     .bytes = bytes.data(),
                     .order = order.data(),
                     .ends = ends.data()},
            GetParam());
    RunPass(ScatterRows<T>{.depth = kDepth,
                           .width = width,
                           .stride = stride,
                           .order = order.data(),
                           .ends = ends.data(),
                           .gradient = gradient.data(),
                           .into = into.data()},
            GetParam());
    EXPECT_EQ(into, expected) << "width " << width;
  }

  void ExpectOuterProducts(std::int64_t units, std::int64_t inputs, bool add) {
    const std::int64_t gradient_stride = units + 3;
    const std::int64_t x_stride = inputs + 16;
    const auto gradient = Numbers<float>(kPassRows * gradient_stride);
    const auto x = Numbers<float>(kPassRows * x_stride);
    const std::int64_t into_stride = inputs + 2;
    auto into = Numbers<float>(units * into_stride);
    auto expected = into;
    for (std::int64_t u = 0; u < units; ++u) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        float& sum = expected[Size(u * into_stride + i)];
        if (!add) sum = 0;
        for (std::int64_t r = 0; r < kPassRows; ++r) {
          sum += gradient[Size(r * gradient_stride + u)] * x[Size(r * x_stride + i)];
        }
      }
    }
    RunPass(SumOuterProducts{.rows = kPassRows,
                             .units = units,
                             .inputs = inputs,
                             .gradient_stride = gradient_stride,
                             .x_stride = x_stride,
                             .into_stride = into_stride,
                             .gradient = gradient.data(),
                             .x = x.data(),
                             .into = into.data(),
                             .add = add},
            GetParam());
    EXPECT_EQ(into, expected) << units << " units, " << inputs << " inputs";
  }

 private:
  std::mt19937 engine_{1};
};

// Widths that fill registers of each instruction set, and widths that leave some numbers over.
constexpr auto kWidths = std::to_array<std::int64_t>({1, 24, 64, 100, 128, 256, 300, 544});

TEST_P(Passes, GatheredSumsEqualThoseOfPlainLoops) {
  for (const std::int64_t width : kWidths) {
    ExpectGatheredSums<float>(width);
    ExpectGatheredSums<Bf16>(width);
  }
}

TEST_P(Passes, ScatteredSumsEqualThoseOfPlainLoops) {
  for (const std::int64_t width : kWidths) {
    ExpectScatteredSums<float>(width);
    ExpectScatteredSums<Bf16>(width);
  }
}

TEST_P(Passes, SumsOfOuterProductsEqualThoseOfPlainLoops) {
  for (const std::int64_t units : {1, 4, 6, 9}) {
    for (const std::int64_t inputs : {1, 15, 16, 24, 64, 101, 200}) {
      ExpectOuterProducts(units, inputs, /*add=*/false);
      ExpectOuterProducts(units, inputs, /*add=*/true);
    }
  }
}

TEST_P(Passes, NanOfAnyBitsStaysNanInBf16) {
  std::vector<float> from;
  for (const std::uint32_t bits :
       {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF80FFFFU, 0xFFFFFFFFU}) {
    from.insert(from.end(), 33, std::bit_cast<float>(bits));  // more than a register holds
  }
  std::vector<Bf16> to(from.size());
  RunPass(RoundToBf16{.count = std::ssize(from), .from = from.data(), .to = to.data()}, GetParam());
  for (const Bf16 number : to) EXPECT_TRUE(std::isnan(Widen(number)));
}

INSTANTIATE_TEST_SUITE_P(OfEveryInstructionSet, Passes,
                         testing::Values(InstructionSet::kBaseline, InstructionSet::kAvx2,
                                         InstructionSet::kAvx512),
                         [](const auto& of) {
                           switch (of.param) {
                             case InstructionSet::kBaseline:
                               return "Baseline";
                             case InstructionSet::kAvx2:
                               return "Avx2";
                             case InstructionSet::kAvx512:
                               break;
                           }
                           return "Avx512";
                         });

}  // namespace
}  // namespace tandem
