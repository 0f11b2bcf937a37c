#include "config/update_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The reserve for a last update that is slower than those before it: a share of the whole time
// limit, since short updates vary by more than their own length, and a part of an update.
constexpr double kPlannedShare = 0.98;
constexpr double kReservedUpdates = 0.3;

// A plan is revised only if it is wrong by at least this share of the remaining updates.
constexpr double kTolerance = 0.05;

}  // namespace

UpdatePlan::UpdatePlan(const TrainingConfig& config)
    : UpdatePlan(config.plan.empty() ? UpdatePlan(*config.max_updates) : Parse(config.plan)) {}

UpdatePlan UpdatePlan::Parse(std::string_view text) {
  const auto fail = [&] {
    throw InputError(
        fmt::format("'{}' is not a plan. Expected pairs UPDATE:TOTAL such as `0:180 12:150`, the "
                    "first with UPDATE 0, sorted by UPDATE, with each TOTAL above its own and the "
                    "next pair's UPDATE.",
                    text));
  };
  UpdatePlan plan(1);
  plan.revisions_.clear();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = std::min(pair.find(':'), pair.size() - 1);
    const auto update = ParseNumber<std::int64_t>(pair.substr(0, colon));
    const auto updates = ParseNumber<std::int64_t>(pair.substr(colon + 1));
    if (pair.empty() || !update || !updates || *update < 0 || *updates <= *update) fail();
    const bool in_order = plan.revisions_.empty() ? *update == 0
                                                  : *update > plan.revisions_.back().update &&
                                                        *update < plan.revisions_.back().updates;
    if (!in_order) fail();
    plan.revisions_.push_back({.update = *update, .updates = *updates});
  }
  if (plan.revisions_.empty()) fail();
  return plan;
}

std::string UpdatePlan::text() const {
  std::vector<std::string> pairs;
  for (const Revision& r : revisions_) pairs.push_back(fmt::format("{}:{}", r.update, r.updates));
  return fmt::format("{}", fmt::join(pairs, " "));
}

void UpdatePlan::WriteTo(TrainingConfig& config) const {
  config.max_updates = updates();
  config.plan = text();
}

void UpdatePlan::Revise(std::int64_t update, std::int64_t updates) {
  if (updates <= update) throw Error("a revised plan must contain the current update");
  std::erase_if(revisions_, [&](const Revision& r) { return r.update >= update; });
  revisions_.push_back({.update = update, .updates = updates});
}

void UpdatePlan::ForgetFrom(std::int64_t update) {
  revisions_.erase(
      std::find_if(revisions_.begin() + 1, revisions_.end(),
                   [&](const Revision& revision) { return revision.update >= update; }),
      revisions_.end());
}

double UpdatePlan::Done(std::int64_t iteration, std::int64_t iterations_per_update) const {
  double done = 0;
  for (std::size_t i = 0;; ++i) {
    const std::int64_t begin = revisions_[i].update * iterations_per_update;
    const std::int64_t last = revisions_[i].updates * iterations_per_update - 1;
    const bool is_current =
        i + 1 == revisions_.size() || iteration < revisions_[i + 1].update * iterations_per_update;
    const std::int64_t at =
        is_current ? iteration : revisions_[i + 1].update * iterations_per_update;
    done += (1 - done) * static_cast<double>(at - begin) /
            static_cast<double>(std::max<std::int64_t>(last - begin, 1));
    if (is_current) return std::min(done, 1.0);
  }
}

void UpdatePacer::Begins(std::int64_t update, double elapsed_s) {
  if (began_s_.empty()) first_update_ = update;
  began_s_.resize(static_cast<std::size_t>(update - first_update_), elapsed_s);
  began_s_.push_back(elapsed_s);
}

UpdatePlan UpdatePacer::Revised(UpdatePlan plan, double limit_s) const {
  constexpr std::size_t kColdUpdates = 1;
  constexpr std::size_t kFewestUpdates = 2;
  const std::size_t done = began_s_.size() - 1;
  if (done < kColdUpdates + kFewestUpdates) return plan;
  const std::size_t recent = std::max(kFewestUpdates, std::min(done - kColdUpdates, done / 2));
  const double update_s = (began_s_.back() - began_s_[done - recent]) / static_cast<double>(recent);
  const std::int64_t update = first_update_ + static_cast<std::int64_t>(done);
  const std::int64_t updates = update + UpdatesThatFit(limit_s, began_s_.back(), update_s);
  const auto left = static_cast<double>(plan.updates() - update);
  const auto wrong_by = static_cast<double>(std::abs(updates - plan.updates()));
  if (updates != plan.updates() && wrong_by >= kTolerance * left) plan.Revise(update, updates);
  return plan;
}

double TimeLimitOf(const TrainingConfig& config) {
  return config.plan.empty() || config.follows_clock ? config.max_seconds : 0;
}

std::int64_t UpdatesThatFit(double limit_s, double elapsed_s, double update_s) {
  const double fitting = (kPlannedShare * limit_s - elapsed_s) / update_s - kReservedUpdates;
  if (!(fitting > 1) || !std::isfinite(fitting)) return 1;
  return static_cast<std::int64_t>(std::min(fitting, 1e9));
}

}  // namespace tandem
