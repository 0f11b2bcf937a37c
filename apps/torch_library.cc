#include "apps/torch_library.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <string>

#include "tandem/error.h"

namespace tandem {
namespace {

// LibTorch's OpenMP threads spin for milliseconds at the end of a parallel loop, in the hope of the
// next. Where generation, training and other programs share the cores, that costs more than it
// gains: two programs on two cores ran four times as fast with a short spin (docs/performance.md).
// Users who set OpenMP's own variables are left alone. Must come before LibTorch is loaded.
void ShortenOpenMpSpin() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "10000", 0);
}

// Every training step allocates and frees the same megabytes of activations. By default glibc gives
// them back to the system and asks again, page fault by page fault, which took a fifth of a step.
void KeepFreedMemory() {
  constexpr int kMostThatGlibcAllows = 32 << 20;
  constexpr int kTrimAbove = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kMostThatGlibcAllows);
  ::mallopt(M_TRIM_THRESHOLD, kTrimAbove);
}

template <class Function>
Function* Find(const char* symbol) {
  ShortenOpenMpSpin();
  KeepFreedMemory();
  void* library = ::dlopen("libtandem_torch.so", RTLD_NOW | RTLD_GLOBAL);
  void* found = library == nullptr ? nullptr : ::dlsym(library, symbol);
  if (found == nullptr) {
    throw Error(std::string("training, solving and networks need LibTorch, which does not load: ") +
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

int RunGenerateWithNetwork(const GenerateArgs& args) {
  return Find<decltype(tandem_run_generate)>("tandem_run_generate")(args);
}

std::unique_ptr<Adviser> OpenAdviser(const ModelArgs& args) {
  return std::unique_ptr<Adviser>(Find<decltype(tandem_open_adviser)>("tandem_open_adviser")(args));
}

}  // namespace tandem
