// The text of `tandem config --reference`.
#pragma once

#include <string>

namespace tandem {

/// Returns a config in which every key has its default, as YAML that ParseConfig reads. Comments
/// say what each key means, which values it accepts, and which keys to try first. Keys that only
/// some puzzles have are commented out.
std::string ConfigReference();

}  // namespace tandem
