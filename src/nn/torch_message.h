// LibTorch's failures, told to people.
#pragma once

#include <c10/util/Exception.h>

#include <string>
#include <string_view>

namespace tandem {

/// LibTorch's message without its stack trace. Where memory ran out: how much was asked for and how
/// much is free, if LibTorch says so, and which keys of the config make do with less.
std::string MessageFor(const c10::Error& error);

/// The same for the text of a c10::Error.
std::string MessageFor(std::string_view what);

}  // namespace tandem
