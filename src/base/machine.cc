#include "base/machine.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Reads cpu.max: "150000 100000", or "max 100000" if there is no limit.
std::optional<double> QuotaInVersion2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// In version 1, a quota of -1 means no limit.
std::optional<double> QuotaInVersion1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  return quota / period;
}

// Lowers `least` to the least quota of `group` and its parent groups, up to `root`.
template <class Quota>
void Lower(std::optional<double>& least, const fs::path& root, fs::path group, const Quota& quota) {
  for (group = group.relative_path();; group = group.parent_path()) {
    if (const std::optional<double> found = quota(root / group); found) {
      least = std::min(least.value_or(*found), *found);
    }
    if (group.empty()) return;
  }
}

}  // namespace

std::optional<double> CpuQuota(const fs::path& process, const fs::path& root) {
  std::optional<double> least;
  std::ifstream lines(process);
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/group" or "0::/group"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) Lower(least, root, group, &QuotaInVersion2);
    if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      Lower(least, root / controllers, group, &QuotaInVersion1);
    }
  }
  return least;
}

std::optional<double> CpuQuota() { return CpuQuota("/proc/self/cgroup", "/sys/fs/cgroup"); }

// The mask has room for more CPUs than Linux supports, and than fit into a cpu_set_t.
CpuSet AllowedCpus() {
  CpuSet allowed{.mask = std::string(8192, '\0')};
  auto* const cpus = reinterpret_cast<cpu_set_t*>(allowed.mask.data());
  if (::sched_getaffinity(0, allowed.mask.size(), cpus) == 0) {
    allowed.count = CPU_COUNT_S(allowed.mask.size(), cpus);
  } else {
    allowed.count = static_cast<int>(std::thread::hardware_concurrency());
  }
  return allowed;
}

int NumCores() {
  const double quota = CpuQuota().value_or(1e6);
  return std::max(1, std::min(AllowedCpus().count, static_cast<int>(quota)));
}

std::string HostName() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::int64_t PeakRssBytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

bool HasCursor(int fd) {
  const char* term = std::getenv("TERM");
  return IsTerminal(fd) && (term == nullptr || std::string_view(term) != "dumb");
}

bool UseColour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return HasCursor(fd) && (no_colour == nullptr || *no_colour == '\0');
}

int TerminalWidth(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace tandem
