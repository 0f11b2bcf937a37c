// Puzzles as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "arrays.h"
#include "tandem/check_domain.h"
#include "tandem/domain.h"
#include "tandem/error.h"

namespace tandem::python {

/// Puzzle is tandem.Domain: a domain, and what owns it.
struct Puzzle {
  std::shared_ptr<const Domain> domain;

  const DomainSpec& spec() const { return domain->spec(); }
};

/// Interrupted says that Ctrl-C ended a method of a puzzle in Python. It becomes
/// KeyboardInterrupt.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// Counts a call of Python code in `running`, the number of such calls that the thread is in.
class CallScope {
 public:
  explicit CallScope(int& running) : running_(running) { ++running_; }
  ~CallScope() { --running_; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  int& running_;
};

/// Whether the calling thread runs a method of a puzzle in Python.
bool IsInPuzzleMethod();

/// Whether the calling thread runs a module that a run or a search uses as its network.
bool IsInModule();

/// Checks the promises of a domain, and returns the broken ones. Throws Interrupted if Ctrl-C ended
/// a method of a puzzle in Python, which would look like a broken promise. Call without the GIL.
std::vector<DomainCheck> BrokenPromises(const Domain& domain, const CheckDomainOptions& options);

/// Throws InputError that names the first row that is not a state of the domain, and says why. A
/// state is one that ParseState reads from the text that FormatState writes. `what` names the
/// argument. Call without the GIL.
void CheckStates(const Domain& domain, ConstRows states, const char* what = "states");

/// Encodes states for the network. Throws Error if the domain writes a number that its
/// input has no feature for. Call without the GIL.
void EncodeChecked(const Domain& domain, ConstRows states, Rows inputs);

}  // namespace tandem::python
