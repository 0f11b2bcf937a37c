#include "domain/origin_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/disjoint_sets.h"
#include "base/random.h"
#include "domain/goal.h"
#include "domain/permute.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// States are sampled in groups until every table is complete. A group of one long walk has each of
// 256 origins at each position several times, if moves mix them well.
constexpr std::size_t kGroup = 4096;
constexpr int kMostGroups = 32;

constexpr int kUnknown = -1;

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

}  // namespace

OriginEncoding::OriginEncoding(const PermutationDomain& domain)
    : domain_(domain), bytes_(GoalOf(domain)) {
  FindOrbits();
  LearnTables();
}

std::vector<OriginEncoding::InputTable> OriginEncoding::inputs() const {
  std::vector<InputTable> inputs;
  for (const std::vector<InputTable>& tables : tables_) inputs.push_back(tables.front());
  return inputs;
}

// Two positions are in one orbit if some action moves a byte from one to the other.
void OriginEncoding::FindOrbits() {
  DisjointSets orbits(bytes_.size());
  const PermutationTable& table = domain_.table();
  for (std::size_t a = 0; a < table.num_actions(); ++a) {
    const auto sources = table.sources(static_cast<Action>(a));
    for (std::size_t to = 0; to < sources.size(); ++to) orbits.Join(to, sources[to]);
  }
  for (std::size_t i = 0; i < bytes_.size(); ++i) orbits_.push_back(orbits.Find(i));
}

void OriginEncoding::LearnTables() {
  const std::size_t size = bytes_.size();
  const auto num_inputs = static_cast<std::size_t>(domain_.spec().input.positions);
  const auto num_actions = static_cast<std::uint64_t>(domain_.spec().num_actions());
  std::vector<InputLearner> learners;
  for (std::size_t input = 0; input < num_inputs; ++input) {
    learners.emplace_back(input, bytes_, orbits_);
  }
  std::vector<std::uint8_t> origins(size);
  std::iota(origins.begin(), origins.end(), std::uint8_t{0});
  std::vector<std::uint8_t> state(size);
  std::vector<std::uint8_t> encoded(num_inputs);
  Random random(0, Purpose::kScramble);
  auto unlearned = learners.begin();
  for (int group = 0; group < kMostGroups && unlearned != learners.end(); ++group) {
    for (std::size_t i = 0; i < kGroup; ++i) {
      const auto action = static_cast<Action>(random.Below(num_actions));
      domain_.Apply(Rows(std::span(origins)), {&action, 1});
      for (std::size_t at = 0; at < size; ++at) state[at] = bytes_[origins[at]];
      domain_.Encode(ConstRows(std::span<const std::uint8_t>(state)), Rows(std::span(encoded)));
      for (std::size_t p = 0; p < num_inputs; ++p) learners[p].Observe(origins, encoded[p]);
    }
    unlearned = std::ranges::find_if_not(learners, &InputLearner::is_learned);
  }
  if (unlearned != learners.end()) {
    throw InputError(fmt::format(
        "{}: position {} of the network's input depends on more than one position of the state, "
        "which tensor programs cannot compute. Set generate.program and search.program to domain.",
        domain_.spec().name, unlearned - learners.begin()));
  }
  for (const InputLearner& learner : learners) tables_.push_back(learner.Tables());
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
        for (const InputTable& table : tables_[input]) {
          if (table.position == at && table.values[origin] != encoded[input]) return false;
        }
      }
      return true;
    };
    std::size_t origin = 0;
    while (origin < state.size() && !fits(origin)) ++origin;
    if (origin == state.size()) return std::nullopt;
    origins.push_back(static_cast<std::uint8_t>(origin));
  }
  return origins;
}

}  // namespace tandem
