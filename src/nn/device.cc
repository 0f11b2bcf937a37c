#include "nn/device.h"

#include <ATen/ops/empty.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/log.h"
#include "nn/cuda_library.h"
#include "tandem/error.h"

namespace tandem {
namespace {

class CpuSlot final : public TransferSlot {
 public:
  explicit CpuSlot(const std::vector<TensorSpec>& tensors) {
    for (const TensorSpec& spec : tensors) tensors_.push_back(at::empty(spec.sizes, spec.type));
  }

  std::span<std::byte> host(std::size_t i) override {
    return {static_cast<std::byte*>(tensors_[i].data_ptr()), tensors_[i].nbytes()};
  }
  const at::Tensor& device(std::size_t i) const override { return tensors_[i]; }
  void AwaitHost() override {}
  void EnqueueCopy() override {}
  void AwaitCopy() override {}
  void Release() override {}

 private:
  std::vector<at::Tensor> tensors_;
};

class CpuStream final : public Stream {
 public:
  std::unique_ptr<StreamScope> Enter() override { return std::make_unique<StreamScope>(); }
};

bool CpuHasFastBf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

class CpuDevice final : public Device {
 public:
  c10::Device torch() const override { return c10::kCPU; }
  std::string description() const override { return "cpu"; }
  bool has_fast_bf16() const override { return CpuHasFastBf16(); }
  std::unique_ptr<Stream> MainStream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Stream> MakeStream() override { return std::make_unique<CpuStream>(); }

  std::vector<std::unique_ptr<TransferSlot>> MakeSlots(
      std::size_t count, const std::vector<TensorSpec>& tensors) override {
    std::vector<std::unique_ptr<TransferSlot>> slots;
    for (std::size_t i = 0; i < count; ++i) slots.push_back(std::make_unique<CpuSlot>(tensors));
    return slots;
  }

  void Synchronize() override {}
};

// The N of "cuda:N"; 0 for "cuda"; nothing for other names.
std::optional<int> CudaIndex(std::string_view name) {
  if (name == "cuda") return 0;
  if (!name.starts_with("cuda:")) return std::nullopt;
  name.remove_prefix(5);
  int index = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index < 0) return std::nullopt;
  return index;
}

bool HasDriver() { return ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr; }

// Loading LibTorch's CUDA libraries takes over a second, so they lie in a library of their own that
// is opened only where a driver is. Returns what is missing.
std::string OpenCudaLibrary(OpenCudaFunction*& open) {
  if (!HasDriver()) return "no NVIDIA driver is installed (libcuda.so.1 is not found)";
  void* library = ::dlopen(kCudaLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    return fmt::format("Tandem's CUDA library does not load: {}", ::dlerror());
  open = reinterpret_cast<OpenCudaFunction*>(::dlsym(library, kOpenCudaSymbol));
  return open == nullptr ? fmt::format("{} lacks {}", kCudaLibrary, kOpenCudaSymbol) : "";
}

std::unique_ptr<Device> OpenCuda(int index, std::string& missing) {
  OpenCudaFunction* open = nullptr;
  missing = OpenCudaLibrary(open);
  return missing.empty() ? std::unique_ptr<Device>(open(index, missing)) : nullptr;
}

}  // namespace

std::unique_ptr<Device> OpenDevice(const std::string& name) {
  if (name == "cpu") return std::make_unique<CpuDevice>();
  std::string missing;
  if (name == "auto") {
    std::unique_ptr<Device> cuda = OpenCuda(0, missing);
    if (cuda != nullptr) return cuda;
    if (HasDriver()) LogWarning("a GPU driver is installed, but the CPU is used: " + missing);
    return std::make_unique<CpuDevice>();
  }
  const std::optional<int> index = CudaIndex(name);
  if (!index) {
    throw InputError(fmt::format("device '{}': expected auto, cpu, cuda or cuda:N", name));
  }
  std::unique_ptr<Device> cuda = OpenCuda(*index, missing);
  if (cuda == nullptr) throw InputError(fmt::format("device '{}': {}", name, missing));
  return cuda;
}

}  // namespace tandem
