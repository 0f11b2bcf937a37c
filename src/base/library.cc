#include "base/library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace tandem {
namespace {

const std::string* failed_what = nullptr;  // of the library that is being opened
int failed_code = EXIT_FAILURE;

std::string MessageOfCurrentException() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {  // has no message
  }
  return "unknown exception";
}

[[noreturn]] void ExitWithMessage() {
  std::fprintf(stderr, "tandem: %s%s\n", failed_what->c_str(), MessageOfCurrentException().c_str());
  std::_Exit(failed_code);
}

// dlopen is declared not to throw, so a compiler may let what it throws pass through a function
// that is noexcept. A volatile pointer hides the declaration: exceptions end here, in the terminate
// handler.
void* Open(const char* file, int flags) noexcept {
  void* (*const volatile open)(const char*, int) = ::dlopen;
  return open(file, flags);
}

}  // namespace

void* OpenLibrary(const char* file, int flags, const std::string& what, int exit_code) {
  failed_what = &what;
  failed_code = exit_code;
  const std::terminate_handler usual = std::set_terminate(ExitWithMessage);
  void* const library = Open(file, flags);
  std::set_terminate(usual);
  return library;
}

}  // namespace tandem
