// Compares the weights of the ranks of a run, and reports where each rank spends its time.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nn/network.h"
#include "pipeline/update.h"

namespace tandem {

class Ranks;

/// RankReport says how the ranks of a run shared its time. Vectors have an entry for each rank,
/// in seconds.
struct RankReport {
  std::vector<std::string> names;       ///< Ranks::NameOf
  std::vector<double> generate_s;       ///< in fills
  std::vector<double> train_s;          ///< in training, without the waits for batches and ranks
  std::vector<double> wait_for_rows_s;  ///< waiting for buffers
  std::vector<double> wait_for_ranks_s;

  /// Adds the times of `more`, a later report of the same ranks.
  void Add(const RankReport& more);
};

/// RankTimes compares the ranks of a run after each update, and adds up their times.
class RankTimes {
 public:
  /// `ranks` must outlive this object.
  explicit RankTimes(Ranks& ranks);

  /// Compares the weights of the ranks by their hash after an update, and exchanges the times of
  /// `record`. All ranks must call it. Throws Error that names the ranks whose weights differ from
  /// rank 0's.
  RankReport AddUpdate(const UpdateRecord& record, const StateDict& weights);

  /// The times of all updates; empty before the first.
  const RankReport& total() const { return total_; }

 private:
  Ranks& ranks_;
  RankReport total_;
  double waited_before_s_;  // Ranks::wait_s when the last update ended
};

/// Returns the entries of an update's line in metrics.jsonl: world_size, and of each time the
/// least, the most, and the rank that took most.
nlohmann::ordered_json FlatJson(const RankReport& report);

/// Returns the entries of summary.json.
nlohmann::ordered_json ToJson(const RankReport& report);

/// Returns "2 ranks: generating took 1.2 s to 1.4 s, longest in rank 1 (process 4711 on node3);
/// ...".
std::string DescribeRanks(const RankReport& report);

}  // namespace tandem
