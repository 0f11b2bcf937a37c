#include "nn/cpu/packed_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "nn/cpu/block_products.h"
#include "tandem/error.h"

namespace tandem {

namespace {

// How many positions share a table: as many as have at most 256 combinations of values, in tables
// that stay in a core's cache.
std::int64_t PositionsTogether(InputLayout input, std::int64_t units,
                               std::size_t bytes_per_number) {
  constexpr std::int64_t kMostValues = 256;
  constexpr std::int64_t kMostBytes = 512 << 10;
  const std::int64_t bytes_per_row = units * static_cast<std::int64_t>(bytes_per_number);
  std::int64_t together = 1;
  for (std::int64_t values = input.depth;; ++together) {
    values *= input.depth;
    const std::int64_t tables = CeilDivide(input.positions, together + 1);
    if (values > kMostValues || tables * values * bytes_per_row > kMostBytes) return together;
    if (together + 1 > input.positions) return together;
  }
}

// The greatest sum of the entries before they are rounded, which adds up to a half to each.
float GreatestSum(std::int64_t num_tables) {
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int16_t>::max();
  if (num_tables < kGreatest) return static_cast<float>(kGreatest - num_tables);
  throw InputError(fmt::format(
      "`inference.precision`: the first layer adds up the weights of {} positions in 16 "
      "bits; expected fewer than {}. Set inference.precision to fp32",
      num_tables, kGreatest));
}

// Rounds entries (num_tables, values, units) to whole numbers times a scale for each unit, such
// that no sum of one row of each table overflows. Returns the scales.
AlignedVector<float> RoundTables(std::int64_t num_tables, std::int64_t values, std::int64_t units,
                                 const AlignedVector<float>& entries,
                                 AlignedVector<std::int16_t>& rounded) {
  AlignedVector<float> greatest(Size(num_tables * units));  // absolute values of a table's entries
  AlignedVector<float> total(Size(units));  // NaN for a unit with a weight that is not finite
  for (std::int64_t row = 0; row < num_tables * values; ++row) {
    const float* from = entries.data() + row * units;
    float* to = greatest.data() + row / values * units;
    for (std::int64_t c = 0; c < units; ++c) {
      to[c] = std::max(to[c], std::abs(from[c]));
      total[Size(c)] += from[c] * 0;
    }
  }
  for (std::int64_t table = 0; table < num_tables; ++table) {
    for (std::int64_t c = 0; c < units; ++c) total[Size(c)] += greatest[Size(table * units + c)];
  }
  const float most = GreatestSum(num_tables);
  AlignedVector<float> inverse(Size(units));
  AlignedVector<float> scale(Size(units));
  for (std::size_t c = 0; c < inverse.size(); ++c) {
    scale[c] = total[c] / most;
    inverse[c] = std::isfinite(total[c]) && total[c] > 0 ? most / total[c] : 0;
  }
  rounded.resize(entries.size());
  for (std::int64_t row = 0; row < num_tables * values; ++row) {
    RunPass(RoundToIntegers{.count = units,
                            .from = entries.data() + row * units,
                            .factor = inverse.data(),
                            .to = rounded.data() + row * units});
  }
  return scale;
}

}  // namespace

template <class Entry>
FirstLayerTables<Entry>::FirstLayerTables(InputLayout input, std::int64_t units)
    : input_(input),
      units_(units),
      together_(PositionsTogether(input, units, sizeof(Entry))),
      num_tables_(CeilDivide(input.positions, together_)) {
  for (std::int64_t i = 0; i < together_; ++i) values_ *= input.depth;
}

template <class Entry>
const float* FirstLayerTables<Entry>::Centre(const float* bias) {
  bias_ = bias;
  centred_bias_.resize(Size(units_));
  return centred_bias_.data();
}

// Row v of a table is the sum of the weights of the values that v stands for at the positions of
// the table. The value at the first of them is the last digit of v.
template <class Entry>
void FirstLayerTables<Entry>::Pack(const float* weight) {
  const std::int64_t units = units_;
  AlignedVector<float> entries(Size(num_tables_ * values_ * units));
  for (std::int64_t row = 0; row < num_tables_ * values_; ++row) {
    float* sum = entries.data() + row * units;
    const std::int64_t first = row / values_ * together_;
    const std::int64_t end = std::min<std::int64_t>(first + together_, input_.positions);
    std::int64_t rest = row % values_;
    for (std::int64_t position = first; position < end; ++position) {
      const float* from = weight + (position * input_.depth + rest % input_.depth) * units;
      for (std::int64_t c = 0; c < units; ++c) sum[c] += from[c];
      rest /= input_.depth;
    }
  }
  if (bias_ != nullptr) SubtractMeans(entries);
  if constexpr (std::is_integral_v<Entry>) {
    unit_scale_ = RoundTables(num_tables_, values_, units_, entries, tables_);
  } else {
    tables_ = std::move(entries);
  }
}

template <class Entry>
void FirstLayerTables<Entry>::SubtractMeans(AlignedVector<float>& entries) {
  const std::size_t units = centred_bias_.size();
  const auto centre = [&](std::span<float> row) {
    const double mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(units);
    for (float& x : row) x -= static_cast<float>(mean);
  };
  for (std::size_t i = 0; i < entries.size(); i += units) {
    centre(std::span(entries).subspan(i, units));
  }
  std::copy_n(bias_, units, centred_bias_.begin());
  centre(centred_bias_);
}

template <class Entry>
void FirstLayerTables<Entry>::LookUp(std::int64_t rows, const std::uint8_t* bytes,
                                     std::uint8_t* values, Entry* sums) const {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint8_t* from = bytes + r * input_.positions;
    for (std::int64_t t = 0; t < num_tables_; ++t) {
      std::int64_t value = 0;
      std::int64_t position = std::min<std::int64_t>((t + 1) * together_, input_.positions);
      while (position-- > t * together_) value = value * input_.depth + from[position];
      values[r * num_tables_ + t] = static_cast<std::uint8_t>(value);
    }
  }
  RunPass(GatherRows<Entry>{.rows = rows,
                            .positions = num_tables_,
                            .depth = values_,
                            .width = units_,
                            .bytes = values,
                            .matrix = tables_.data(),
                            .sums = sums});
}

template class FirstLayerTables<float>;
template class FirstLayerTables<std::int16_t>;

namespace {

// The numbers of this many inputs of a unit lie next to each other.
constexpr std::int64_t kPerWord = kRowsPerWord<std::int8_t>;

constexpr auto kMost = static_cast<float>(std::numeric_limits<std::int8_t>::max());

}  // namespace

std::int64_t Int8Weights::PaddedInputs(std::int64_t inputs) {
  return CeilDivide(inputs, kPerWord) * kPerWord;
}

Int8Weights RoundToInt8(const float* weight, std::int64_t inputs, std::int64_t units) {
  const std::int64_t rows = Int8Weights::PaddedInputs(inputs);
  Int8Weights to{.operand = AlignedVector<std::int8_t>(Size(rows * units)),
                 .unit_scale = AlignedVector<float>(Size(units)),
                 .unit_sum = AlignedVector<float>(Size(units))};
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const float* row = weight + unit * inputs;
    const std::int64_t panel = unit / kPanelColumns * kPanelColumns;
    const std::int64_t panel_width = PanelWidth(panel, units);
    std::int8_t* column = to.operand.data() + panel * rows + (unit - panel) * kPerWord;
    float most = 0;
    float total = 0;
    for (std::int64_t i = 0; i < inputs; ++i) {
      most = std::max(most, std::abs(row[i]));
      total += std::abs(row[i]);
    }
    const bool finite = std::isfinite(total);
    const float scale = finite ? most / kMost : std::numeric_limits<float>::quiet_NaN();
    const float inverse = finite && most > 0 ? kMost / most : 0;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; finite && i < inputs; ++i) {
      const auto rounded = static_cast<std::int8_t>(std::lrint(row[i] * inverse));
      sum += rounded;
      column[i / kPerWord * panel_width * kPerWord + i % kPerWord] = rounded;
    }
    to.unit_scale[Size(unit)] = scale;
    to.unit_sum[Size(unit)] = static_cast<float>(sum) * scale;
  }
  return to;
}

}  // namespace tandem
