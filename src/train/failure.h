// Says in which update and at which stage a run failed.
#pragma once

#include <cstdint>

#include "base/timeline.h"

namespace tandem {

/// Call in a catch block. Rethrows the current exception with the update and the stage in front of
/// its message: "update 3, generating rows: ...". `activity` is the activity of the main thread in
/// which the exception arrived (Timeline::FailedActivity). Error and InputError keep their class.
/// All other exceptions, those of LibTorch and of plug-ins among them, become Error. Stopped is
/// rethrown unchanged.
[[noreturn]] void ThrowWithStage(std::int64_t update, Activity activity);

}  // namespace tandem
