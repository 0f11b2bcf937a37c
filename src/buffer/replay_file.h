// Saves and loads the contents of a ReplayBuffer, in a file beside the checkpoint. The file starts
// with four lines:
//
//     tandem replay 1                               kReplaySchema
//     columns input:uint8:54 target:float32:1       name, type and width of each column
//     rows 6000                                     rows per buffer
//     updates 3 5                                   the first update, and one past the last
//
// The bytes of each column follow, for one update after another. The last 32 bytes are the
// hexadecimal digits of the 128-bit XXH3 hash of everything before them.
#pragma once

#include <cstdint>
#include <filesystem>

#include "buffer/replay_buffer.h"

namespace tandem {

inline constexpr int kReplaySchema = 1;

/// Writes the buffers that a run needs in order to resume at update `next`: those of the
/// replay.earlier() updates before it. The file appears complete or not at all. Throws Error that
/// names the file.
void WriteReplay(const std::filesystem::path& path, const ReplayBuffer& replay, std::int64_t next);

/// Loads a file that WriteReplay wrote into `replay`, which must be empty. Throws InputError that
/// names the file if it does not exist, is damaged, or was written for another schema, another
/// number of rows or another update.
void ReadReplay(const std::filesystem::path& path, ReplayBuffer& replay, std::int64_t next);

}  // namespace tandem
