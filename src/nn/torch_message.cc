#include "nn/torch_message.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "config/fields.h"

namespace tandem {
namespace {

// The two words after `before`, which are an amount such as "1.50 GiB"; "" if there is no amount.
std::string_view AmountAfter(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + before.size());
  if (text.find_first_of("0123456789") != 0) return "";
  const std::size_t unit = text.find(' ') + 1;
  const std::size_t end = text.find_first_of(" .,\n", unit);
  return unit == 0 ? "" : text.substr(0, end);
}

// "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which
// 1.50 GiB is free. ..."
std::string GpuMessage(std::string_view what) {
  std::string message = "the GPU is out of memory";
  const std::string_view asked = AmountAfter(what, "Tried to allocate ");
  const std::string_view free = AmountAfter(what, "of which ");
  const std::string_view total = AmountAfter(what, "total capacity of ");
  if (!asked.empty()) message += fmt::format(": another {} was requested", asked);
  if (!free.empty()) message += fmt::format(", {} of {} is free", free, total);
  return fmt::format("{}; {}", message, kToSpareGpuMemory);
}

// "... DefaultCPUAllocator: can't allocate memory: you tried to allocate 160000 bytes. ..."
std::string CpuMessage(std::string_view what) {
  const std::string_view asked = AmountAfter(what, "you tried to allocate ");
  double bytes = 0;
  std::from_chars(asked.data(), asked.data() + asked.size(), bytes);
  if (bytes == 0) return fmt::format("out of memory; {}", kToSpareMemory);
  return fmt::format("out of memory: another {} was requested; {}", HumanBytes(bytes),
                     kToSpareMemory);
}

}  // namespace

std::string MessageFor(std::string_view what) {
  const auto has = [&](std::string_view sign) { return what.find(sign) != std::string_view::npos; };
  // The messages of the caching allocator, the driver (pinned memory, first use) and cuBLAS.
  if (has("CUDA out of memory") || has("CUDA error: out of memory") ||
      has("_STATUS_ALLOC_FAILED")) {
    return GpuMessage(what);
  }
  if (has("DefaultCPUAllocator: ")) return CpuMessage(what);
  return std::string(what.substr(0, what.find("\nException raised from ")));
}

std::string MessageFor(const c10::Error& error) {
  return MessageFor(std::string_view(error.what_without_backtrace()));
}

}  // namespace tandem
