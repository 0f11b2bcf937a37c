#include "apps/torch_library.h"

#include <dlfcn.h>

#include <string>

#include "tandem/error.h"

namespace tandem {
namespace {

template <class Function>
Function* Find(const char* symbol) {
  void* library = ::dlopen("libtandem_torch.so", RTLD_NOW | RTLD_GLOBAL);
  void* found = library == nullptr ? nullptr : ::dlsym(library, symbol);
  if (found == nullptr) {
    throw Error(std::string("training and solving need LibTorch, which does not load: ") +
                ::dlerror());
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

int RunTrain(const TrainArgs& args) {
  return Find<decltype(tandem_run_train)>("tandem_run_train")(args);
}

int RunSolve(const SolveArgs& args) {
  return Find<decltype(tandem_run_solve)>("tandem_run_solve")(args);
}

}  // namespace tandem
