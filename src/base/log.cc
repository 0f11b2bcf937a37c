#include "base/log.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/machine.h"
#include "base/mutex.h"
#include "base/text.h"

namespace tandem {
namespace {

// Of all messages; "" if this process is the only one. Set once, before other threads log.
std::string& Prefix() {
  static std::string prefix;
  return prefix;
}

constexpr const char* kEraseLine = "\r\x1b[K";
constexpr const char* kYellow = "\x1b[33m\x1b[1m";
constexpr const char* kPlain = "\x1b[m";

// The status line in the last line of the terminal. There is none while `line_` is empty.
class Status {
 public:
  void Show(std::string_view line) {
    const MutexLock lock(mutex_);
    line_ = line;
    Draw();
  }

  void Leave() {
    const MutexLock lock(mutex_);
    if (!line_.empty()) std::fputs("\n", stderr);
    line_.clear();
  }

  // Writes a message above the status line.
  void WriteAbove(const std::string& message) {
    const MutexLock lock(mutex_);
    if (!line_.empty()) std::fputs(kEraseLine, stderr);
    std::fputs((message + "\n").c_str(), stderr);
    if (!line_.empty()) Draw();
  }

 private:
  void Draw() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::fprintf(stderr, "%s%s", kEraseLine, line_.c_str());
  }

  Mutex mutex_;
  std::string line_ ABSL_GUARDED_BY(mutex_);
};

Status& TheStatus() {
  static Status status;
  return status;
}

}  // namespace

void LogInfo(std::string_view message) {
  if (Prefix().empty()) TheStatus().WriteAbove(Printable(message));
}

void LogWarning(std::string_view message) {
  static const bool has_colour = UseColour(STDERR_FILENO);
  const std::string text = fmt::format("{}warning: {}", Prefix(), Printable(message));
  TheStatus().WriteAbove(has_colour ? kYellow + text + kPlain : text);
}

void LogWarningsOnly(std::string_view prefix) { Prefix() = prefix; }

void ShowStatus(std::string_view line) { TheStatus().Show(line); }

void LeaveStatus() { TheStatus().Leave(); }

}  // namespace tandem
