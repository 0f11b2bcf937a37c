#include "compare/spread.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace tandem {
namespace {

// Returns the sum of the differences, with the sign of difference i flipped if bit i of `flipped`
// is set.
double SumWithSigns(std::span<const double> differences, std::uint64_t flipped) {
  double sum = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    sum += (flipped >> (i % 64) & 1) != 0 ? -differences[i] : differences[i];
  }
  return sum;
}

}  // namespace

Spread SpreadOf(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  const double median =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return {.median = median, .least = sorted.front(), .most = sorted.back()};
}

std::optional<Spread> SpreadOf(std::span<const std::optional<double>> values) {
  std::vector<double> known;
  for (const std::optional<double>& value : values) {
    if (!value) return std::nullopt;
    known.push_back(*value);
  }
  return SpreadOf(known);
}

double ChanceOf(std::span<const double> differences) {
  constexpr std::uint64_t kSamples = std::uint64_t{1} << kExactPairs;
  constexpr std::size_t kMaxPairs = 64;  // one bit of a sample per pair
  const std::span<const double> pairs = differences.first(std::min(differences.size(), kMaxPairs));
  const bool exact = pairs.size() <= kExactPairs;
  const std::uint64_t patterns = exact ? std::uint64_t{1} << pairs.size() : kSamples;

  double scale = 0;
  for (const double difference : pairs) scale += std::abs(difference);
  const double rounding = 1e-12 * scale;  // treat sums that differ only by rounding as equal
  const double observed = std::abs(SumWithSigns(pairs, 0)) - rounding;
  std::mt19937_64 random(1);
  std::uint64_t as_far = 0;
  for (std::uint64_t i = 0; i < patterns; ++i) {
    if (std::abs(SumWithSigns(pairs, exact ? i : random())) >= observed) ++as_far;
  }
  return static_cast<double>(as_far) / static_cast<double>(patterns);
}

}  // namespace tandem
