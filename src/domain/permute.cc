#include "domain/permute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tandem/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define TANDEM_TARGET(features) __attribute__((target(features)))
#endif

namespace tandem {
namespace {

// The bytes that one instruction reads and writes: AVX2 shuffles, and an AVX-512 register.
constexpr std::size_t kIn = 16;
constexpr std::size_t kOut = 32;
constexpr std::size_t kBlock = 64;

// The offsets of pieces of `length` bytes that together cover a row. The last piece may overlap the
// previous one.
std::vector<std::size_t> Cover(std::size_t positions, std::size_t length) {
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < positions; at += length) {
    begins.push_back(std::min(at, positions - length));
  }
  return begins;
}

#if defined(__x86_64__)

// A row in registers. Bytes after its end are not read.
template <int kBlocks>
struct Lanes {
  __m512i block[kBlocks];  // NOLINT(*-avoid-c-arrays): std::array drops its attributes
};

template <int kBlocks>
struct Masks {
  explicit Masks(std::size_t positions) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const std::size_t left = positions > b * kBlock ? positions - b * kBlock : 0;
      mask[b] = left >= kBlock ? ~0ULL : (1ULL << left) - 1;
    }
  }
  std::array<__mmask64, kBlocks> mask{};
};

template <int kBlocks>
TANDEM_TARGET("avx512f,avx512bw,avx512vbmi")
inline Lanes<kBlocks> Load(const std::uint8_t* row, const Masks<kBlocks>& masks) {
  Lanes<kBlocks> lanes;  // NOLINT(*-member-init): all are written below
  for (int b = 0; b < kBlocks; ++b) {
    lanes.block[b] = _mm512_maskz_loadu_epi8(masks.mask[b], row + b * kBlock);
  }
  return lanes;
}

// Returns 64 bytes: byte i is byte index[i] of the row.
template <int kBlocks>
TANDEM_TARGET("avx512f,avx512bw,avx512vbmi")
inline __m512i Gather(const Lanes<kBlocks>& lanes, __m512i index) {
  if constexpr (kBlocks == 1) return _mm512_maskz_permutexvar_epi8(~0ULL, index, lanes.block[0]);
  if constexpr (kBlocks == 2) {
    return _mm512_permutex2var_epi8(lanes.block[0], index, lanes.block[1]);
  }
  if constexpr (kBlocks == 4) {
    const __m512i low = _mm512_permutex2var_epi8(lanes.block[0], index, lanes.block[1]);
    const __m512i high = _mm512_permutex2var_epi8(lanes.block[2], index, lanes.block[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
  }
}

// Stores the permuted row in pieces of kWidth bytes. The last piece may overlap the previous one. A
// masked store would be simpler, but the processor treats it as a store of full width: it would
// seem to overlap the next row, whose load would then have to wait.
template <int kBlocks, int kWidth>
TANDEM_TARGET("avx512f,avx512bw,avx512vbmi")
inline void Permute(const Lanes<kBlocks>& lanes, const std::uint8_t* indices, std::size_t positions,
                    std::uint8_t* to) {
  std::size_t at = 0;
  for (bool last = false; !last; at += kWidth) {
    last = at + kWidth >= positions;
    if (last) at = positions - kWidth;
    const __m512i bytes = Gather<kBlocks>(lanes, _mm512_loadu_si512(indices + at));
    if constexpr (kWidth == 64) {
      _mm512_storeu_si512(to + at, bytes);
    } else if constexpr (kWidth == 32) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), _mm512_castsi512_si256(bytes));
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), _mm512_castsi512_si128(bytes));
    }
  }
}

template <int kBlocks, int kWidth>
TANDEM_TARGET("avx512f,avx512bw,avx512vbmi")
void ApplyBlocks(const std::uint8_t* indices, std::size_t stride, Rows states,
                 std::span<const Action> actions) {
  const std::size_t positions = states.row_size();
  const Masks<kBlocks> masks(positions);
  std::uint8_t* row = states.data();
  for (const Action action : actions) {
    Permute<kBlocks, kWidth>(Load(row, masks), indices + action * stride, positions, row);
    row += positions;
  }
}

template <int kBlocks, int kWidth>
TANDEM_TARGET("avx512f,avx512bw,avx512vbmi")
void ExpandBlocks(const std::uint8_t* indices, std::size_t stride, ConstRows states,
                  Rows children) {
  const std::size_t positions = states.row_size();
  const std::size_t num_actions = states.empty() ? 0 : children.size() / states.size();
  const Masks<kBlocks> masks(positions);
  std::uint8_t* child = children.data();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Lanes<kBlocks> lanes = Load(states[i].data(), masks);
    for (std::size_t a = 0; a < num_actions; ++a) {
      Permute<kBlocks, kWidth>(lanes, indices + a * stride, positions, child);
      child += positions;
    }
  }
}

// Calls work.operator()<kBlocks, kWidth>() with the values for rows of `positions` bytes.
template <class Work>
void WithBlocks(std::size_t positions, const Work& work) {
  if (positions < 32) return work.template operator()<1, 16>();
  if (positions < 64) return work.template operator()<1, 32>();
  if (positions == 64) return work.template operator()<1, 64>();
  if (positions <= 128) return work.template operator()<2, 64>();
  return work.template operator()<4, 64>();
}

#endif

void CheckPermutation(const Permutation& permutation, std::size_t positions,
                      std::string_view action) {
  if (permutation.size() != positions) {
    throw Error(fmt::format("action {}: {} positions, expected {}, as in the goal", action,
                            permutation.size(), positions));
  }
  std::vector<bool> seen(positions, false);
  for (std::size_t i = 0; i < positions; ++i) {
    const std::size_t from = permutation[i];
    if (from >= positions || seen[from]) {
      throw Error(
          fmt::format("action {}: not a permutation: position {} takes from {}, which is {}",
                      action, i, from, from >= positions ? "out of range" : "already taken"));
    }
    seen[from] = true;
  }
}

// Sets the fields of the spec that follow from the goal and the permutations.
DomainSpec CompleteSpec(DomainSpec spec, const std::vector<std::uint8_t>& goal,
                        const std::vector<Permutation>& permutations) {
  if (goal.empty() || goal.size() > kMaxPositions) {
    throw Error(fmt::format("domain '{}': {} positions, expected 1 to {}", spec.name, goal.size(),
                            kMaxPositions));
  }
  if (permutations.size() != spec.action_names.size()) {
    throw Error(fmt::format("domain '{}': {} permutations for {} actions", spec.name,
                            permutations.size(), spec.action_names.size()));
  }
  for (std::size_t a = 0; a < permutations.size(); ++a) {
    CheckPermutation(permutations[a], goal.size(), spec.action_names[a]);
  }
  spec.state_size = static_cast<int>(goal.size());
  if (spec.input.positions == 0) {
    spec.input = {.positions = spec.state_size, .depth = 1 + *std::ranges::max_element(goal)};
  }
  for (std::size_t a = 0; a < permutations.size(); ++a) {
    const auto inverse = std::ranges::find(permutations, Inverse(permutations[a]));
    if (inverse == permutations.end()) {
      throw Error(fmt::format("action {} has no inverse among the actions", spec.action_names[a]));
    }
    spec.inverse_actions.push_back(static_cast<Action>(inverse - permutations.begin()));
  }
  return spec;
}

}  // namespace

std::vector<PermuteWith> PermutationTable::Available([[maybe_unused]] std::size_t positions) {
  std::vector<PermuteWith> available = {PermuteWith::kBytes};
#if defined(__x86_64__)
  if (positions > kMaxBytePositions) return available;
  if (positions >= kOut && __builtin_cpu_supports("avx2")) {
    available.push_back(PermuteWith::kAvx2);
  }
  if (positions >= kIn && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512bw")) {
    available.push_back(PermuteWith::kAvx512);
  }
#endif
  return available;
}

PermutationTable::PermutationTable(const std::vector<Permutation>& permutations, PermuteWith with)
    : permutations_(permutations),
      positions_(permutations.front().size()),
      num_actions_(permutations.size()),
      with_(with),
      first_shuffle_{0},
      stride_((positions_ + kBlock - 1) / kBlock * kBlock),
      indices_(with == PermuteWith::kAvx512 ? num_actions_ * stride_ + kBlock : 0) {
  for (std::size_t a = 0; a < num_actions_; ++a) {
    const Permutation& permutation = permutations[a];
    std::vector<ByteMove>& moves = moves_.emplace_back();
    for (std::size_t i = 0; i < positions_; ++i) {
      if (permutation[i] != i) moves.push_back({static_cast<std::uint16_t>(i), permutation[i]});
      if (with == PermuteWith::kAvx512) {
        indices_[a * stride_ + i] = static_cast<std::uint8_t>(permutation[i]);
      }
    }
    if (with == PermuteWith::kAvx2) MakeShuffles(permutation);
  }
}

void PermutationTable::MakeShuffles(const Permutation& permutation) {
  for (const std::size_t out : Cover(positions_, kOut)) {
    const std::size_t first = shuffles_.size();
    std::array<bool, kOut> done{};
    for (const std::size_t in : Cover(positions_, kIn)) {
      Shuffle shuffle{.in = static_cast<std::uint8_t>(in),
                      .out = static_cast<std::uint8_t>(out),
                      .first = false,
                      .last = false,
                      .source = {}};
      bool used = false;
      for (std::size_t i = 0; i < kOut; ++i) {
        const std::size_t from = permutation[out + i];
        const bool here = !done[i] && from >= in && from < in + kIn;
        shuffle.source[i] = here ? static_cast<std::uint8_t>(from - in) : 0x80;
        done[i] = done[i] || here;
        used = used || here;
      }
      if (used) shuffles_.push_back(shuffle);
    }
    shuffles_[first].first = true;
    shuffles_.back().last = true;
  }
  first_shuffle_.push_back(shuffles_.size());
}

void PermutationTable::ApplyBytes(std::uint8_t* row, Action action) const {
  const std::vector<ByteMove>& moves = moves_[action];
  std::array<std::uint8_t, kMaxPositions> moved;  // NOLINT: written before it is read
  for (std::size_t j = 0; j < moves.size(); ++j) moved[j] = row[moves[j].from];
  for (std::size_t j = 0; j < moves.size(); ++j) row[moves[j].to] = moved[j];
}

#if defined(__x86_64__)

// `from` and `to` must be different rows.
TANDEM_TARGET("avx2")
void PermutationTable::ShuffleRow(const std::uint8_t* from, std::uint8_t* to, Action action) const {
  __m256i sum = _mm256_setzero_si256();
  for (std::size_t i = first_shuffle_[action]; i < first_shuffle_[action + 1]; ++i) {
    const Shuffle& shuffle = shuffles_[i];
    const __m256i bytes = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + shuffle.in)));
    const __m256i source =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(shuffle.source.data()));
    const __m256i part = _mm256_shuffle_epi8(bytes, source);
    sum = shuffle.first ? part : _mm256_or_si256(sum, part);
    if (shuffle.last) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + shuffle.out), sum);
  }
}

#endif

void PermutationTable::Apply(Rows states, std::span<const Action> actions) const {
#if defined(__x86_64__)
  if (with_ == PermuteWith::kAvx512) {
    return WithBlocks(positions_, [&]<int kBlocks, int kWidth>() {
      ApplyBlocks<kBlocks, kWidth>(indices_.data(), stride_, states, actions);
    });
  }
  if (with_ == PermuteWith::kAvx2) {
    std::array<std::uint8_t, kMaxBytePositions> before;  // NOLINT: written before it is read
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::copy_n(states[i].data(), positions_, before.data());
      ShuffleRow(before.data(), states[i].data(), actions[i]);
    }
    return;
  }
#endif
  for (std::size_t i = 0; i < states.size(); ++i) ApplyBytes(states[i].data(), actions[i]);
}

void PermutationTable::Expand(ConstRows states, Rows children) const {
#if defined(__x86_64__)
  if (with_ == PermuteWith::kAvx512) {
    return WithBlocks(positions_, [&]<int kBlocks, int kWidth>() {
      ExpandBlocks<kBlocks, kWidth>(indices_.data(), stride_, states, children);
    });
  }
#endif
  std::uint8_t* child = children.data();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::uint8_t* state = states[i].data();
    for (std::size_t a = 0; a < num_actions_; ++a, child += positions_) {
#if defined(__x86_64__)
      if (with_ == PermuteWith::kAvx2) {
        ShuffleRow(state, child, static_cast<Action>(a));
        continue;
      }
#endif
      std::copy_n(state, positions_, child);
      for (const ByteMove move : moves_[a]) child[move.to] = state[move.from];
    }
  }
}

Permutation Compose(const Permutation& first, const Permutation& second) {
  Permutation both(first.size());
  for (std::size_t i = 0; i < both.size(); ++i) both[i] = first[second[i]];
  return both;
}

Permutation Inverse(const Permutation& permutation) {
  Permutation inverse(permutation.size());
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    inverse[permutation[i]] = static_cast<std::uint16_t>(i);
  }
  return inverse;
}

PermutationDomain::PermutationDomain(DomainSpec spec, std::vector<std::uint8_t> goal,
                                     const std::vector<Permutation>& permutations)
    : Domain(CompleteSpec(std::move(spec), goal, permutations)),
      goal_(std::move(goal)),
      table_(std::make_unique<const PermutationTable>(permutations)) {}

PermutationDomain::~PermutationDomain() = default;

void PermutationDomain::WriteGoals(Rows states) const {
  for (std::size_t i = 0; i < states.size(); ++i) std::ranges::copy(goal_, states[i].begin());
}

void PermutationDomain::Apply(Rows states, std::span<const Action> actions) const {
  table_->Apply(states, actions);
}

void PermutationDomain::Expand(ConstRows states, Rows children) const {
  table_->Expand(states, children);
}

void PermutationDomain::IsGoal(ConstRows states, std::span<std::uint8_t> is_goal) const {
  for (std::size_t i = 0; i < states.size(); ++i) {
    is_goal[i] = std::memcmp(states[i].data(), goal_.data(), goal_.size()) == 0 ? 1 : 0;
  }
}

}  // namespace tandem
