#include "base/machine.h"

#include <malloc.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Lowers `least` to the least quota of `group` and its parent groups, up to `root`. `file` has the
// quota and, in version 2 of control groups, the period: "150000 100000". Version 1 has the period
// in a file of its own. "max" or -1 means that there is no limit.
void Lower(std::optional<double>& least, const fs::path& root, fs::path group,
           const std::string& file, const std::string& period_file) {
  for (group = group.relative_path();; group = group.parent_path()) {
    std::ifstream in(root / group / file);
    std::ifstream period_in(root / group / period_file);
    double quota = 0;
    double period = 0;
    in >> quota;
    (period_file == file ? in : period_in) >> period;
    if (quota > 0 && period > 0) least = std::min(least.value_or(quota / period), quota / period);
    if (group.empty()) return;
  }
}

// The first line of /proc/cpuinfo that begins with `name`, and a space.
std::string CpuInfo(std::string_view name) {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) return line + ' ';
  }
  return "";
}

}  // namespace

bool CpuHas(std::string_view feature) {
  static const std::string features = CpuInfo("flags");
  return features.find(' ' + std::string(feature) + ' ') != std::string::npos;
}

bool CpuIsIntel() { return CpuInfo("vendor_id").find("GenuineIntel") != std::string::npos; }

std::optional<double> CpuQuota(const fs::path& process, const fs::path& root) {
  std::optional<double> least;
  std::ifstream lines(process);
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/group" or "0::/group"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) Lower(least, root, group, "cpu.max", "cpu.max");
    if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      Lower(least, root / controllers, group, "cpu.cfs_quota_us", "cpu.cfs_period_us");
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

void KeepFreedMemory() {
  constexpr int kGlibcMaximum = 32 << 20;
  constexpr int kTrimAbove = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kGlibcMaximum);
  ::mallopt(M_TRIM_THRESHOLD, kTrimAbove);
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
