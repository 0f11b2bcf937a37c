#include "base/fault_point.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "tandem/error.h"

namespace tandem {
namespace {

constexpr auto kKinds =
    std::to_array<std::string_view>({"error", "bad_alloc", "unknown", "full", "hang"});

// What ArmFault set. The flag that FaultPoint reads is set after them.
Fault g_fault = Fault::kCount;
std::string_view g_kind;
std::atomic<std::int64_t> g_remaining{0};  // times to pass the point before it fails

std::atomic<std::uint64_t> g_calls{0};  // of ArmFault; threads that hang wait for the next one

void Fail(std::string_view name) {
  if (g_kind == "hang") {
    g_calls.wait(g_calls.load());
    return;
  }
  if (g_kind == "bad_alloc") throw std::bad_alloc();
  if (g_kind == "unknown") throw 1;
  if (g_kind == "full") {
    throw std::system_error(ENOSPC, std::generic_category(), fmt::format("injected at {}", name));
  }
  throw Error(fmt::format("injected failure at {}", name));
}

}  // namespace

void ArmFault(std::string_view spec) {
  internal::fault_is_armed = false;
  ++g_calls;
  g_calls.notify_all();
  if (spec.empty()) return;
  const std::size_t kind_at = spec.find(':');
  const std::string_view name = spec.substr(0, kind_at);
  const std::string_view rest = kind_at == std::string_view::npos ? "" : spec.substr(kind_at + 1);
  const std::size_t count_at = rest.find(':');
  const auto* const found = std::ranges::find(kFaultNames, name);
  const auto* const kind = std::ranges::find(kKinds, rest.substr(0, count_at));
  const auto count = count_at == std::string_view::npos
                         ? std::optional<std::int64_t>(1)
                         : ParseNumber<std::int64_t>(rest.substr(count_at + 1));
  if (found == kFaultNames.end() || kind == kKinds.end() || !count || *count < 1) {
    throw InputError(fmt::format(
        "cannot inject the failure `{}`; expected NAME:KIND or NAME:KIND:N with N of at least 1. "
        "Names: {}. Kinds: {}.",
        spec, fmt::join(kFaultNames, ", "), fmt::join(kKinds, ", ")));
  }
  g_fault = static_cast<Fault>(found - kFaultNames.begin());
  g_kind = *kind;
  g_remaining = *count;
  internal::fault_is_armed = true;
}

std::atomic<bool> internal::fault_is_armed{false};

void internal::FailIfDue(Fault fault) {
  if (fault != g_fault || --g_remaining != 0) return;
  Fail(kFaultNames[static_cast<std::size_t>(fault)]);
}

}  // namespace tandem
