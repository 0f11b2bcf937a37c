// The two kinds of failure that Tandem reports.
//
// Every message is written for its reader: it says what failed and where, what was expected, and
// what to do. Programs print `what()` and exit with the code noted below.
#pragma once

#include <stdexcept>

namespace tandem {

/// Error reports that something failed while carrying out a valid request (exit code 1): the disk
/// is full, the loss is not finite, or a puzzle breaks its own contract.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// InputError reports a request that cannot be carried out as written (exit code 2): an unknown
/// key, a state that is not a valid cube, or a folder that already holds a run.
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace tandem
