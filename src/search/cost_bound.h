// The largest allowed cost of a solution.
#pragma once

#include <limits>

namespace tandem {

/// The largest sum of costs that counts as at most `cost`. Sums of costs are rounded, so that three
/// actions of cost 0.3 may cost a little more than 0.9.
inline float WithRounding(float cost) {
  constexpr float kRounding = 1e-5F;
  return cost * (1 + kRounding);
}

/// CostBound rules out paths that cannot be part of a solution of at most a given cost.
class CostBound {
 public:
  /// `most` is the largest allowed cost of a solution; 0 or less: no limit.
  explicit CostBound(float most) {
    if (most > 0) most_ = WithRounding(most);
  }

  /// The largest cost that is not excluded. Infinite if there is no limit.
  float most() const { return most_; }

  bool is_limited() const { return most_ < std::numeric_limits<float>::infinity(); }

  /// Whether every solution costs too much that costs at least `cost`, such as the sum of a path's
  /// cost and a lower bound on the cost-to-go of its end.
  bool Excludes(float cost) const { return cost > most_; }

 private:
  float most_ = std::numeric_limits<float>::infinity();
};

}  // namespace tandem
