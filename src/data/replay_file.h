// The file of a ReplayBuffer, from which a run resumes.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/replay_buffer.h"

namespace tandem {

/// Writes the buffers that a run needs in order to resume at update `next`: those of the
/// replay.earlier() updates before it. The file appears complete or not at all. Throws Error that
/// names the file.
void WriteReplay(const std::filesystem::path& path, const ReplayBuffer& replay, std::int64_t next);

/// Loads a file that WriteReplay wrote into `replay`, which must be empty. Throws InputError that
/// names the file if it does not exist, is damaged, or was written for another schema, another
/// number of rows or other updates.
void ReadReplay(const std::filesystem::path& path, ReplayBuffer& replay, std::int64_t next);

}  // namespace tandem
