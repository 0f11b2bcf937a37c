// Turns C++ exceptions into Python's.
#pragma once

namespace tandem::python {

/// From now on, InputError becomes ValueError, Error becomes RuntimeError, and Stopped becomes
/// KeyboardInterrupt. Messages stay the same.
void TranslateErrors();

}  // namespace tandem::python
