#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/machine.h"
#include "base/text.h"

namespace tandem {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    const auto colours =
        UseColour(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never;
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours);
    sink->set_color(spdlog::level::info, "");
    auto made = std::make_shared<spdlog::logger>("tandem", std::move(sink));
    made->set_pattern("%^%v%$");
    return made;
  }();
  return *logger;
}

// Set once, before other threads log.
bool& WarningsOnly() {
  static bool warnings_only = false;
  return warnings_only;
}

std::string& Prefix() {
  static std::string prefix;
  return prefix;
}

constexpr const char* kEraseLine = "\r\x1b[K";

// The status line in the last line of the terminal. There is none while `line_` is empty.
class Status {
 public:
  void Show(std::string_view line) {
    const std::lock_guard lock(mutex_);
    line_ = line;
    Draw();
  }

  void Leave() {
    const std::lock_guard lock(mutex_);
    if (!line_.empty()) std::fputs("\n", stderr);
    line_.clear();
  }

  // Writes a message above the status line.
  template <class Write>
  void Above(const Write& write) {
    const std::lock_guard lock(mutex_);
    if (!line_.empty()) std::fputs(kEraseLine, stderr);
    write();
    if (!line_.empty()) Draw();
  }

 private:
  void Draw() const { std::fprintf(stderr, "%s%s", kEraseLine, line_.c_str()); }

  std::mutex mutex_;
  std::string line_;
};

Status& TheStatus() {
  static Status status;
  return status;
}

}  // namespace

void LogInfo(std::string_view message) {
  if (WarningsOnly()) return;
  TheStatus().Above([&] { Logger().info("{}", Printable(message)); });
}

void LogWarning(std::string_view message) {
  TheStatus().Above([&] { Logger().warn("{}warning: {}", Prefix(), Printable(message)); });
}

void LogWarningsOnly(std::string_view prefix) {
  WarningsOnly() = true;
  Prefix() = prefix;
}

void ShowStatus(std::string_view line) { TheStatus().Show(line); }

void LeaveStatus() { TheStatus().Leave(); }

}  // namespace tandem
