// The phases of a run: later parts of it that have other settings and go on with its weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/update_plan.h"

namespace tandem {

/// Names the keys that a phase may change, for messages.
std::string PhaseKeys();

/// Describes the key `phases` for `tandem config --reference`.
std::string PhasesMeaning();

/// An example of `phases` for `tandem config --reference`.
inline constexpr std::string_view kPhasesExample =
    "phases:\n"
    "  - from: 0.9\n"
    "    generate: {target: capped_value_iteration}\n"
    "    optimizer: {learning_rate: 2e-5, schedule: constant}\n";

/// Returns whether a phase may change `key`. Other keys shape the network or the buffers, or
/// identify the run.
bool PhaseMayChange(std::string_view key);

/// Returns what phase `phase`, which is at least 1, changes: "generate.target=policy, ...".
std::string DescribePhase(const Config& run, std::int64_t phase);

/// Returns the config with which phase `phase` of a run works. Phase 0 is the part before the
/// first entry of `run.phases`, and has the settings of `run` itself.
Config ConfigOfPhase(const Config& run, std::int64_t phase);

/// Returns the first update of phase `phase` if the run has `updates` updates. Phase 0 begins at
/// update 0, and later phases begin at update 1 or later. If two phases begin at one update, the
/// earlier one has no update.
std::int64_t FirstUpdateOfPhase(const Config& run, std::int64_t phase, std::int64_t updates);

/// Returns the phase that `update` is planned to be in. In a run that follows the clock, a later
/// revision of the plan does not take a run back to an earlier phase; the caller sees to that.
std::int64_t PhaseAt(const Config& run, std::int64_t update);

/// PhasePlan holds the updates of a phase.
struct PhasePlan {
  std::int64_t phase = 0;
  std::int64_t first_update = 0;
  UpdatePlan updates;  ///< counts from first_update

  /// Returns the first update that is not in the phase.
  std::int64_t end() const { return first_update + updates.updates(); }
};

/// Returns the updates of phase `phase`, which began at `first_update`. `run` must have no `auto`
/// left.
PhasePlan PlanOfPhase(const Config& run, std::int64_t phase, std::int64_t first_update);

}  // namespace tandem
