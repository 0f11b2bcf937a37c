// Every key of a config, for people who look one up or begin a config of their own.
#pragma once

#include <string>

namespace tandem {

/// A config of nothing but defaults, as YAML that ParseConfig reads; comments tell what each key
/// means and what it may be. Keys that only some puzzles have stand there as comments.
std::string ConfigReference();

}  // namespace tandem
