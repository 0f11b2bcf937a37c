// The largest allowed cost of a solution.
#pragma once

#include <limits>

namespace tandem {

/// The largest sum of costs that counts as at most `cost`. The cost of an action is rounded to a
/// float, so three actions of cost 0.3 may cost a little more than 0.9. Searches sum costs in
/// double, where the sum of floats is as good as exact however long the path is.
inline double WithRounding(double cost) {
  constexpr double kRounding = 1e-5;
  return cost * (1 + kRounding);
}

/// CostBound rules out paths that cannot be part of a solution of at most a given cost.
class CostBound {
 public:
  /// `most` is the largest allowed cost of a solution; 0 or less: no limit.
  explicit CostBound(double most) {
    if (most > 0) most_ = WithRounding(most);
  }

  /// The largest cost that is not excluded. Infinite if there is no limit.
  double most() const { return most_; }

  bool is_limited() const { return most_ < std::numeric_limits<double>::infinity(); }

  /// Whether every solution costs too much that costs at least `cost`, such as the sum of a path's
  /// cost and a lower bound on the cost-to-go of its end.
  bool Excludes(double cost) const { return cost > most_; }

 private:
  double most_ = std::numeric_limits<double>::infinity();
};

}  // namespace tandem
