#include "apps/torch_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "apps/output.h"
#include "base/log.h"
#include "base/machine.h"
#include "domain/registry.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// LibTorch's kernels rely on getting as many OpenMP threads as they ask for: with OMP_DYNAMIC=true,
// OMP_THREAD_LIMIT=1 or OMP_MAX_ACTIVE_LEVELS=0, products in bf16 are wrong. Settings of MKL and
// oneDNN change the last bits. A run must depend only on its config, so only variables that change
// neither results nor the number of threads are kept.
bool MayStay(std::string_view name) {
  constexpr std::array<std::string_view, 6> kLibraries = {"OMP_", "GOMP_", "KMP_",
                                                          "MKL_", "DNNL_", "ONEDNN_"};
  constexpr std::array<std::string_view, 4> kHarmless = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT",
                                                         "OMP_STACKSIZE", "GOMP_STACKSIZE"};
  const auto starts = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::none_of(kLibraries, starts)) return true;
  const auto contains = [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  return std::ranges::find(kHarmless, name) != kHarmless.end() || contains("VERBOSE") ||
         contains("DISPLAY");
}

void IgnoreSettingsOfMathLibraries() {
  std::vector<std::string> ignored;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!MayStay(name)) ignored.emplace_back(name);
  }
  for (const std::string& name : ignored) ::unsetenv(name.c_str());
  // Do not warn about numbers of threads: many clusters set them for every job, and Tandem has its
  // own keys for them.
  std::erase_if(ignored, [](const std::string& name) { return name.ends_with("NUM_THREADS"); });
  if (ignored.empty()) return;
  LogWarning(
      fmt::format("{}: ignored, because it could change results. Set the number of threads with "
                  "train.threads and inference.threads, and the cores with taskset.",
                  fmt::join(ignored, ", ")));
}

// At the end of a parallel loop, LibTorch's OpenMP threads spin for milliseconds while they wait
// for the next loop. If generation, training and other programs share the cores, spinning costs
// more than it gains: two programs on two cores ran four times as fast with a short spin
// (results/other/openmp_spin.json). The settings of users who set OMP_WAIT_POLICY or GOMP_SPINCOUNT
// are kept.
void ShortenOpenMpSpin() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "10000", 0);
}

constexpr const char* kCannotLoad =
    "training, solving and networks need LibTorch, which cannot be loaded: ";

const TorchLibrary& LoadLibrary() {
  void* library = OpenLibrary("libtandem_torch.so", RTLD_NOW | RTLD_GLOBAL, kCannotLoad, kFailed);
  void* table = library == nullptr ? nullptr : ::dlsym(library, "tandem_torch_library");
  if (table == nullptr) {
    throw Error(std::string(kCannotLoad) + ::dlerror());
  }
  return reinterpret_cast<decltype(&tandem_torch_library)>(table)();
}

}  // namespace

const TorchLibrary& OpenTorchLibrary() {
  static const TorchLibrary& library = []() -> const TorchLibrary& {
    // These come before the library, because OpenMP reads its variables when it is loaded.
    IgnoreSettingsOfMathLibraries();
    ShortenOpenMpSpin();
    KeepFreedMemory();
    return LoadLibrary();
  }();
  return library;
}

}  // namespace tandem
