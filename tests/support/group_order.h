// The order of the group that a puzzle's permutations generate. It is the puzzle's number of states
// if all stickers are distinct.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tandem/permutation.h"

namespace tandem {

/// A whole number as the exponents of its prime factors, because group orders have up to 69 digits.
class Factors {
 public:
  Factors& Times(std::size_t number, int exponent = 1) {
    for (std::size_t prime = 2; number > 1; ++prime) {
      for (; number % prime == 0; number /= prime) {
        if ((exponents_[prime] += exponent) == 0) exponents_.erase(prime);
      }
    }
    return *this;
  }

  Factors& TimesFactorial(std::size_t number) {
    for (std::size_t i = 2; i <= number; ++i) Times(i);
    return *this;
  }

  bool operator==(const Factors&) const = default;

 private:
  std::map<std::size_t, int> exponents_;
};

/// A permutation group as a chain of stabilisers: level i holds the permutations that fix positions
/// 0 to i - 1. The method is the random Schreier-Sims algorithm (Leon, "On an algorithm for finding
/// a base and a strong generating set", 1980). The computed order is never too large; it is too
/// small with a probability of about 2^-kInVain.
class PermutationGroup {
 public:
  explicit PermutationGroup(const std::vector<Permutation>& generators)
      : identity_(generators.front().size()), levels_(identity_.size()) {
    std::iota(identity_.begin(), identity_.end(), std::uint8_t{0});
    for (const Permutation& generator : generators) Add(generator);
    RandomElements elements(generators);
    for (int in_vain = 0; in_vain < kInVain;) {
      const Permutation rest = Sift(elements.Next());
      in_vain = rest == identity_ ? in_vain + 1 : 0;
      if (in_vain == 0) Add(rest);
    }
  }

  Factors Order() const {
    Factors order;
    for (const Level& level : levels_) order.Times(std::max(level.orbit.size(), std::size_t{1}));
    return order;
  }

 private:
  static constexpr int kInVain = 40;

  struct Level {
    std::vector<Permutation> generators;
    std::map<std::uint8_t, Permutation> orbit;  // images of position i, each with an element for it
  };

  // Random elements of the group, by product replacement.
  class RandomElements {
   public:
    explicit RandomElements(const std::vector<Permutation>& generators) {
      while (pool_.size() < std::max<std::size_t>(10, generators.size())) {
        pool_.push_back(generators[pool_.size() % generators.size()]);
      }
      for (int i = 0; i < 500; ++i) Next();
    }

    const Permutation& Next() {
      const std::size_t changed = random_() % pool_.size();
      const std::size_t other = (changed + 1 + random_() % (pool_.size() - 1)) % pool_.size();
      return pool_[changed] = random_() % 2 == 0 ? Compose(pool_[changed], pool_[other])
                                                 : Compose(Inverse(pool_[other]), pool_[changed]);
    }

   private:
    std::vector<Permutation> pool_;
    std::mt19937_64 random_;
  };

  // The position that the byte at `position` moves to.
  static std::uint8_t Image(const Permutation& permutation, std::size_t position) {
    return static_cast<std::uint8_t>(std::ranges::find(permutation, position) -
                                     permutation.begin());
  }

  // Divides an element by known elements, level by level. The result is the identity if the element
  // belongs to the group found so far.
  Permutation Sift(Permutation element) const {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const std::uint8_t image = Image(element, i);
      if (image == i) continue;
      const auto known = levels_[i].orbit.find(image);
      if (known == levels_[i].orbit.end()) return element;
      element = Compose(element, Inverse(known->second));
    }
    return element;
  }

  // Adds an element to every level whose earlier positions it fixes.
  void Add(const Permutation& element) {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      levels_[i].generators.push_back(element);
      FindOrbit(i);
      if (Image(element, i) != i) return;
    }
  }

  void FindOrbit(std::size_t position) {
    Level& level = levels_[position];
    std::vector<std::uint8_t> reached = {static_cast<std::uint8_t>(position)};
    level.orbit = {{reached[0], identity_}};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const Permutation& generator : level.generators) {
        const std::uint8_t image = Image(generator, reached[i]);
        if (level.orbit.contains(image)) continue;
        level.orbit[image] = Compose(level.orbit[reached[i]], generator);
        reached.push_back(image);
      }
    }
  }

  Permutation identity_;
  std::vector<Level> levels_;
};

}  // namespace tandem
