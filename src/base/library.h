// Opens shared libraries.
#pragma once

#include <string>

namespace tandem {

/// Opens a shared library as dlopen(file, flags) does, and returns its handle, or null if that
/// fails; dlerror() then says why. Loading runs the initialisers of the library's global variables,
/// and what they throw cannot leave dlopen. If one throws, the process ends with `exit_code` and
/// prints "tandem: ", `what` and the exception's message. One thread may call this at a time.
void* OpenLibrary(const char* file, int flags, const std::string& what, int exit_code);

}  // namespace tandem
