#include "domain/origin_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "domain/moves.h"
#include "domain/permute.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// States are sampled in groups until every table is complete. They are kept only to learn from
// pairs of positions. A group of one long walk has each of 256 origins at each position several
// times, if moves mix them well.
constexpr std::size_t kGroup = 4096;
constexpr std::size_t kMostGroups = 32;

constexpr int kUnknown = -1;

// How often each pair of origins occurs in the samples, on average, at least. A pair that does not
// occur then counts as one that no moves bring about.
constexpr std::size_t kSamplesPerPair = 64;

// A sampled state: the origin of each position, and the network's input.
struct Sample {
  std::vector<std::uint8_t> origins;
  std::vector<std::uint8_t> encoded;
};

// A position that may decide an input.
struct Candidate {
  std::size_t position;
  std::vector<int> values;  // by origin; kUnknown if no state had that origin there
  bool contradicted = false;
};

// Learns which position of the state gives one position of the network's input, and how.
class InputLearner {
 public:
  // `goal` and `orbits` must outlive this.
  InputLearner(std::size_t input, const std::vector<std::uint8_t>& goal,
               const std::vector<std::size_t>& orbits)
      : input_(input), goal_(goal), orbits_(orbits), copies_(input < goal.size()) {
    if (!copies_) AddCandidates();
  }

  // Notes that the input is `value` in a state.
  void Observe(std::span<const std::uint8_t> origins, std::uint8_t value) {
    if (copies_ && value == goal_[origins[input_]]) return;
    if (copies_) AddCandidates();
    copies_ = false;
    for (Candidate& candidate : candidates_) {
      int& known = candidate.values[origins[candidate.position]];
      if (known == kUnknown) known = value;
      candidate.contradicted = known != value;
    }
    std::erase_if(candidates_, [](const Candidate& each) { return each.contradicted; });
  }

  bool is_learned() const {
    return copies_ ||
           std::ranges::any_of(candidates_, [this](const Candidate& c) { return IsComplete(c); });
  }

  // The tables of all positions that give the input.
  std::vector<OriginEncoding::InputTable> Tables() const {
    if (copies_) return {{.position = input_, .values = goal_}};
    std::vector<OriginEncoding::InputTable> tables;
    for (const Candidate& candidate : candidates_) {
      if (!IsComplete(candidate)) continue;
      OriginEncoding::InputTable& table = tables.emplace_back();
      table.position = candidate.position;
      for (const int value : candidate.values) {
        table.values.push_back(static_cast<std::uint8_t>(std::max(value, 0)));
      }
    }
    return tables;
  }

 private:
  void AddCandidates() {
    for (std::size_t at = 0; at < goal_.size(); ++at) {
      candidates_.push_back({.position = at, .values = std::vector<int>(goal_.size(), kUnknown)});
    }
  }

  bool IsComplete(const Candidate& candidate) const {
    for (std::size_t origin = 0; origin < goal_.size(); ++origin) {
      const bool can_come = orbits_[origin] == orbits_[candidate.position];
      if (can_come && candidate.values[origin] == kUnknown) return false;
    }
    return true;
  }

  std::size_t input_;
  const std::vector<std::uint8_t>& goal_;
  const std::vector<std::size_t>& orbits_;
  bool copies_;  // whether the input is the byte of the same position, as far as is known
  std::vector<Candidate> candidates_;
};

// Returns the table of two positions of the state that together may give an input; nothing if a
// sample contradicts it or samples are too few. Most positions that do not decide the input are
// contradicted by one of the first samples.
std::optional<OriginEncoding::InputTable> TableOfPair(std::size_t input, std::size_t first,
                                                      std::size_t second,
                                                      const std::vector<Sample>& samples,
                                                      const std::vector<std::size_t>& orbits) {
  const std::size_t size = orbits.size();
  const auto origins_at = [&](std::size_t position) {  // how many moves can bring there
    return static_cast<std::size_t>(std::ranges::count(orbits, orbits[position]));
  };
  if (kSamplesPerPair * origins_at(first) * origins_at(second) > samples.size()) return {};
  OriginEncoding::InputTable table{.position = first, .second = second, .values = {}};
  table.values.resize(size * size);
  std::vector<bool> is_known(size * size);
  for (const Sample& sample : samples) {
    const std::size_t at = sample.origins[first] * size + sample.origins[second];
    if (is_known[at] && table.values[at] != sample.encoded[input]) return {};
    table.values[at] = sample.encoded[input];
    is_known[at] = true;
  }
  return table;
}

// Returns the table of the first two positions that decide the input; nothing if there are none.
std::vector<OriginEncoding::InputTable> TablesOfPairs(std::size_t input,
                                                      const std::vector<Sample>& samples,
                                                      const std::vector<std::size_t>& orbits) {
  for (std::size_t first = 0; first < orbits.size(); ++first) {
    for (std::size_t second = first + 1; second < orbits.size(); ++second) {
      auto table = TableOfPair(input, first, second, samples, orbits);
      if (table) return {*std::move(table)};
    }
  }
  return {};
}

}  // namespace

OriginEncoding::OriginEncoding(const PermutationDomain& domain)
    : domain_(domain), bytes_(GoalOf(domain)) {
  if (bytes_.size() > kMaxBytePositions) {
    throw InputError(fmt::format(
        "{}: a state has {} bytes, and tensor programs take at most {}. Set generate.program and "
        "search.program to domain.",
        domain.spec().name, bytes_.size(), kMaxBytePositions));
  }
  orbits_.resize(bytes_.size());
  for (const std::vector<Place>& orbit : FindOrbits(domain.table().permutations())) {
    for (const Place& place : orbit) orbits_[place.front()] = orbit.front().front();
  }
  LearnTables();
}

std::vector<OriginEncoding::InputTable> OriginEncoding::inputs() const {
  std::vector<InputTable> inputs;
  for (const std::vector<InputTable>& tables : tables_) inputs.push_back(tables.front());
  return inputs;
}

void OriginEncoding::LearnTables() {
  const std::size_t size = bytes_.size();
  const auto num_inputs = static_cast<std::size_t>(domain_.spec().input.positions);
  const auto num_actions = static_cast<std::uint64_t>(domain_.spec().num_actions());
  std::vector<InputLearner> learners;
  for (std::size_t input = 0; input < num_inputs; ++input) {
    learners.emplace_back(input, bytes_, orbits_);
  }
  const auto all_learned = [&] { return std::ranges::all_of(learners, &InputLearner::is_learned); };
  // Visits the states of a long walk, the same in every call, until a group of them is enough.
  const auto walk = [&](const auto& visit, const auto& is_enough) {
    Sample sample{.origins = std::vector<std::uint8_t>(size),
                  .encoded = std::vector<std::uint8_t>(num_inputs)};
    std::iota(sample.origins.begin(), sample.origins.end(), std::uint8_t{0});
    std::vector<std::uint8_t> state(size);
    Random random(0, Purpose::kScramble);
    for (std::size_t i = 0; i < kMostGroups * kGroup; ++i) {
      const auto action = static_cast<Action>(random.Below(num_actions));
      domain_.Apply(Rows(std::span(sample.origins)), {&action, 1});
      for (std::size_t at = 0; at < size; ++at) state[at] = bytes_[sample.origins[at]];
      domain_.Encode(ConstRows(std::span<const std::uint8_t>(state)),
                     Rows(std::span(sample.encoded)));
      visit(sample);
      if ((i + 1) % kGroup == 0 && is_enough()) return;
    }
  };
  walk(
      [&](const Sample& sample) {
        for (std::size_t input = 0; input < num_inputs; ++input) {
          learners[input].Observe(sample.origins, sample.encoded[input]);
        }
      },
      all_learned);
  std::vector<Sample> samples;  // only if two positions decide an input together
  if (!all_learned()) {
    walk([&](const Sample& sample) { samples.push_back(sample); }, [] { return false; });
  }
  for (std::size_t input = 0; input < num_inputs; ++input) {
    tables_.push_back(learners[input].is_learned() ? learners[input].Tables()
                                                   : TablesOfPairs(input, samples, orbits_));
    if (!tables_.back().empty()) continue;
    throw InputError(fmt::format(
        "{}: position {} of the network's input depends on more than two positions of the state, "
        "or on two with too many values, which tensor programs cannot compute. Set "
        "generate.program and search.program to domain.",
        domain_.spec().name, input));
  }
}

// Of the origins that give a position its byte, those remain that also give the inputs which the
// position decides. Where several remain, pieces look alike, and the first is as good as any.
std::optional<std::vector<std::uint8_t>> OriginEncoding::OriginsOf(
    std::span<const std::uint8_t> state) const {
  std::vector<std::uint8_t> encoded(tables_.size());
  domain_.Encode(ConstRows(state), Rows(std::span(encoded)));
  std::vector<std::uint8_t> origins;
  for (std::size_t at = 0; at < state.size(); ++at) {
    const auto fits = [&](std::size_t origin) {
      if (bytes_[origin] != state[at] || orbits_[origin] != orbits_[at]) return false;
      for (std::size_t input = 0; input < tables_.size(); ++input) {
        const auto agrees = [&](const InputTable& table) {
          return table.second || table.position != at || table.values[origin] == encoded[input];
        };
        if (!std::ranges::all_of(tables_[input], agrees)) return false;
      }
      return true;
    };
    std::size_t origin = 0;
    while (origin < state.size() && !fits(origin)) ++origin;
    if (origin == state.size()) return std::nullopt;
    origins.push_back(static_cast<std::uint8_t>(origin));
  }
  CheckPairsAreDistinct(origins);
  return origins;
}

// Pieces that look alike have equal origins, and may still differ in an input that two positions
// decide together, here or after some moves.
void OriginEncoding::CheckPairsAreDistinct(std::span<const std::uint8_t> origins) const {
  std::vector<bool> is_used(origins.size());
  std::vector<bool> has_look_alikes(origins.size());  // by orbit
  for (std::size_t at = 0; at < origins.size(); ++at) {
    if (is_used[origins[at]]) has_look_alikes[orbits_[at]] = true;
    is_used[origins[at]] = true;
  }
  for (std::size_t input = 0; input < tables_.size(); ++input) {
    const InputTable& table = tables_[input].front();
    if (!table.second) continue;
    if (!has_look_alikes[orbits_[table.position]] && !has_look_alikes[orbits_[*table.second]]) {
      continue;
    }
    throw InputError(fmt::format(
        "{}: position {} of the network's input tells pieces apart that look alike, which tensor "
        "programs cannot. Set generate.program and search.program to domain.",
        domain_.spec().name, input));
  }
}

}  // namespace tandem
