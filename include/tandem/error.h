// The two kinds of failure that Tandem reports.
//
// Every message is written for the person who reads it: it names what was found, where, and what
// was expected. Programs print `what()` and exit with the code noted below.
#pragma once

#include <stdexcept>

namespace tandem {

/// Something failed while doing what was asked (exit code 1): a full disk, a loss that is not
/// finite, a puzzle that breaks its own contract.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The request itself cannot be carried out as written (exit code 2): an unknown key, a state that
/// is no cube, a folder that already holds a run.
class InputError : public Error {
 public:
  using Error::Error;
};

}  // namespace tandem
