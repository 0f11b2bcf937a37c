// The number of threads that OpenMP really starts.
#pragma once

namespace tandem {

/// Returns the number of threads of a parallel region that begins on the calling thread. It is
/// smaller than the number that ScopedThreads set if OMP_THREAD_LIMIT limits it, for example.
int OpenMpTeamSize();

}  // namespace tandem
