// What replay holds, in a file beside the checkpoint.
//
//     tandem replay 1                               kReplaySchema
//     columns input:uint8:54 target:float32:1       name, type and width of each
//     rows 6000                                     of each buffer
//     updates 3 5                                   the first, and the one after the last
//
// Then, update by update, the bytes of each column; then 32 hexadecimal digits, XXH3's 128-bit hash
// of all before them.
#pragma once

#include <cstdint>
#include <filesystem>

#include "buffer/replay_buffer.h"

namespace tandem {

inline constexpr int kReplaySchema = 1;

/// Writes, whole or not at all, what a run must hold to go on with update `next`: the buffers of
/// the earlier() updates before it. Throws Error that names the file.
void WriteReplay(const std::filesystem::path& path, const ReplayBuffer& replay, std::int64_t next);

/// Adds what WriteReplay wrote to `replay`, which is empty. Throws InputError that names the file
/// if it is not there, is damaged or is not of such a run before that update.
void ReadReplay(const std::filesystem::path& path, ReplayBuffer& replay, std::int64_t next);

}  // namespace tandem
