#include "nn/device.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <set>
#include <sstream>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "config/fields.h"
#include "nn/gpu/pass_runner.h"
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
  void AwaitReleased() override {}
  void EnqueueCopy() override {}
  void AwaitCopy() override {}
  void Release() noexcept override {}

 private:
  std::vector<at::Tensor> tensors_;
};

// Keeps the tensor, which is not written before Await has returned.
class HostResultSlot final : public ResultSlot {
 public:
  void EnqueueCopy(const at::Tensor& from) override { result_ = from; }
  std::span<const std::byte> Await() override {
    return {static_cast<const std::byte*>(result_.const_data_ptr()), result_.nbytes()};
  }

 private:
  at::Tensor result_;
};

class CpuStream final : public Stream {
 public:
  std::unique_ptr<StreamScope> Enter() override { return std::make_unique<StreamScope>(); }
};

// Without AMX, Intel's processors take about twice as long for a product in bf16 as in fp32, and
// AMD's half as long (results/other/bf16.json). The kind of processor decides and not a
// measurement, so that a run stays a function of its config and machine.
bool CpuHasFastBf16() { return CpuHas("amx_bf16") || (CpuHas("avx512_bf16") && !CpuIsIntel()); }

class CpuDevice final : public Device {
 public:
  c10::Device torch() const override { return c10::kCPU; }
  std::string description() const override { return "cpu"; }
  bool has_fast_bf16() const override { return CpuHasFastBf16(); }
  std::unique_ptr<Stream> MainStream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Stream> MakeStream() override { return std::make_unique<CpuStream>(); }

  std::vector<std::unique_ptr<TransferSlot>> MakeSlots(std::size_t count,
                                                       const std::vector<TensorSpec>& tensors,
                                                       const PrefetchConfig& /*config*/) override {
    std::vector<std::unique_ptr<TransferSlot>> slots;
    for (std::size_t i = 0; i < count; ++i) slots.push_back(std::make_unique<CpuSlot>(tensors));
    return slots;
  }

  const PassRunner* passes() const override { return &passes_; }

  void Synchronize() override {}

 private:
  HostPassRunner passes_;
};

// Further lines of LibTorch's messages are for its developers.
std::string FirstLineOf(const c10::Error& error) {
  const std::string message = error.what_without_backtrace();
  return message.substr(0, message.find('\n'));
}

bool HasDriver() { return ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr; }

// Opens Tandem's CUDA library. It is separate, and opened only if a driver is present, because
// loading LibTorch's CUDA libraries takes over a second. Returns null if it cannot be opened;
// gpus.missing says why no GPU can be used.
OpenCudaFunction* FindCuda(Gpus& gpus) {
  if (!HasDriver()) {
    gpus.missing = "there is no NVIDIA driver (libcuda.so.1 was not found)";
    return nullptr;
  }
  void* library = ::dlopen(kCudaLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    gpus.missing = fmt::format("Tandem's CUDA library cannot be loaded: {}", ::dlerror());
    return nullptr;
  }
  auto* find = reinterpret_cast<FindGpusFunction*>(::dlsym(library, kFindGpusSymbol));
  auto* open = reinterpret_cast<OpenCudaFunction*>(::dlsym(library, kOpenCudaSymbol));
  if (find == nullptr || open == nullptr) {
    gpus.missing = fmt::format("{} belongs to another version of Tandem", kCudaLibrary);
    return nullptr;
  }
  find(gpus);
  return open;
}

std::string Available(const Gpus& gpus) {
  if (gpus.count == 0) return fmt::format("cpu ({})", gpus.missing);
  if (gpus.count == 1) return "cpu, cuda:0";
  return fmt::format("cpu, cuda:0 to cuda:{}", gpus.count - 1);
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> Device::MakeBackend(
    const c10::intrusive_ptr<c10d::Store>& /*store*/, int /*rank*/, int /*size*/) {
  return {};
}

std::unique_ptr<ResultSlot> Device::MakeResultSlot(std::size_t /*bytes*/) {
  return std::make_unique<HostResultSlot>();
}

std::unique_ptr<Device> OpenDevice(const std::string& name, std::optional<int> local_rank) {
  if (local_rank && name != "cuda" && CudaIndex(name)) return OpenDevice("cuda", local_rank);
  if (name == "cpu") return std::make_unique<CpuDevice>();
  Gpus gpus;
  OpenCudaFunction* open = FindCuda(gpus);
  if (const std::string reason = WhyNoDevice(name, gpus); !reason.empty()) {
    throw InputError(reason);
  }
  if (gpus.count > 0) {
    const int index = local_rank ? GpuOfRank(*local_rank, gpus.count) : CudaIndex(name).value_or(0);
    if (!local_rank && gpus.count > 1 && name.find(':') == std::string::npos) {
      LogInfo(fmt::format("this machine has {}; cuda:{} is used. `device: cuda:N` chooses another",
                          Available(gpus), index));
    }
    try {
      return std::unique_ptr<Device>(open(index));
    } catch (const c10::Error& error) {
      gpus.missing = fmt::format("cuda:{} cannot be used: {}; nvidia-smi lists the programs on it",
                                 index, FirstLineOf(error));
    } catch (const InputError& error) {
      gpus.missing = fmt::format("cuda:{} cannot be used: {}", index, error.what());
    }
    if (name != "auto") throw InputError(fmt::format("`device: {}`: {}", name, gpus.missing));
  }
  if (HasDriver()) {
    LogWarning("a GPU driver is installed, but the CPU is used: " + gpus.missing);
  }
  return std::make_unique<CpuDevice>();
}

std::string WhyNoDevice(std::string_view name, const Gpus& gpus) {
  if (name == "auto" || name == "cpu") return "";
  const std::optional<int> index = CudaIndex(name);
  if (!index) {
    return fmt::format("`device: {}`: expected auto, cpu, cuda or cuda:N; this machine has {}",
                       name, Available(gpus));
  }
  if (*index < gpus.count) return "";
  if (gpus.count == 0) {
    return fmt::format("`device: {}`: {}; use `device: cpu` or `device: auto`", name, gpus.missing);
  }
  return fmt::format("`device: {}`: this machine has only {}", name, Available(gpus));
}

bool HasCodeFor(int major, int minor, const std::string& architectures) {
  if (architectures.empty()) return true;
  std::istringstream names(architectures);
  for (std::string name; names >> name;) {
    const auto number = ParseNumber<int>(name.substr(name.find('_') + 1));
    if (!number || *number > 10 * major + minor) continue;
    if (name.starts_with("compute_") || *number / 10 == major) return true;
  }
  return false;
}

KernelTrace::KernelTrace() {
  namespace profiler = torch::profiler::impl;
  profiler::ExperimentalConfig experimental;
  experimental.profile_all_threads = true;  // the generator evaluates on its own thread
  const profiler::ProfilerConfig config(
      profiler::ProfilerState::KINETO, /*report_input_shapes=*/false, /*profile_memory=*/false,
      /*with_stack=*/false, /*with_flops=*/false, /*with_modules=*/false, experimental);
  const std::set<profiler::ActivityType> activities = {profiler::ActivityType::CUDA};
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
}

KernelTrace::~KernelTrace() {
  if (!recording_) return;
  try {
    torch::autograd::profiler::disableProfiler();
  } catch (const c10::Error&) {
    // The device has failed, and the run already ends with that error.
  }
}

void KernelTrace::Save(const std::filesystem::path& path) {
  recording_ = false;
  torch::autograd::profiler::disableProfiler()->save(path.string());
}

}  // namespace tandem
