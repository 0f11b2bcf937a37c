#include "generate/curriculum.h"

namespace tandem {
namespace {

// The scrambles become longer if the searches solve at least this share of them.
constexpr double kEnoughSolved = 0.5;

}  // namespace

void SolvedByLength::Add(std::int64_t length, bool solved) {
  const auto at = static_cast<std::size_t>(length);
  if (at >= counts_.size()) counts_.resize(at + 1);
  ++counts_[at].searches;
  counts_[at].solved += solved ? 1 : 0;
}

std::optional<double> SolvedByLength::MeanShare() const {
  double sum = 0;
  std::int64_t lengths = 0;
  for (const auto& [searches, solved] : counts_) {
    if (searches == 0) continue;
    sum += static_cast<double>(solved) / static_cast<double>(searches);
    ++lengths;
  }
  if (lengths == 0) return std::nullopt;
  return sum / static_cast<double>(lengths);
}

void Curriculum::FillEnds(std::optional<double> searches_solved) {
  if (!is_on_ || !searches_solved || *searches_solved < kEnoughSolved) return;
  reached_ = std::min(2 * reached_, max_);
}

}  // namespace tandem
