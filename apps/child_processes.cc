#include "apps/child_processes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(20);
constexpr auto kGracePeriod = std::chrono::seconds(30);  // for a child that was asked to end

// A pipe that exec closes. If the child cannot start the program, it writes the error number into
// the pipe; end of file means that the program started.
class ErrorPipe {
 public:
  ErrorPipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw Error(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    }
  }
  ~ErrorPipe() {
    ::close(ends_[0]);
    CloseWriteEnd();
  }
  ErrorPipe(const ErrorPipe&) = delete;
  ErrorPipe& operator=(const ErrorPipe&) = delete;

  // Async-signal-safe.
  [[noreturn]] void ReportAndExit(int error) const {
    [[maybe_unused]] const ssize_t written = ::write(ends_[1], &error, sizeof error);
    _exit(kCannotStart);
  }

  // Waits until the child has started its program or failed. Returns 0 or the error.
  int Read() {
    CloseWriteEnd();
    int error = 0;
    while (::read(ends_[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    return error;
  }

 private:
  static constexpr int kCannotStart = 127;

  void CloseWriteEnd() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

  std::array<int, 2> ends_{};
};

// Texts as execve takes them.
class Texts {
 public:
  explicit Texts(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;

  char* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Whether the variable tells a process that torchrun started its place among the ranks.
bool IsOfRank(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {
      "RANK",       "LOCAL_RANK",       "GROUP_RANK",       "ROLE_RANK",   "ROLE_WORLD_SIZE",
      "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  return name.starts_with("TORCHELASTIC_") || std::ranges::find(kNames, name) != kNames.end();
}

// This process's environment variables without those of a rank, and with those of `changed` set.
std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& changed) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!IsOfRank(name) && !changed.contains(std::string(name))) all.emplace_back(text);
  }
  for (const auto& [name, value] : changed) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

// Runs in the child. Only async-signal-safe calls are allowed there, because other threads of the
// parent may have held locks at the fork.
[[noreturn]] void ExecProgram(const Texts& arguments, const Texts& variables, const char* log,
                              pid_t parent, const ErrorPipe& errors) {
  // Ctrl-C at a terminal then reaches only the parent, which asks the child to end.
  ::setpgid(0, 0);
  // If the parent dies, even by SIGKILL, the child saves its work and ends too.
  if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) errors.ReportAndExit(errno);
  if (::getppid() != parent) errors.ReportAndExit(ESRCH);  // the parent died before prctl
  const int input = ::open("/dev/null", O_RDONLY);
  const int output = ::open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (input < 0 || output < 0 || ::dup2(input, STDIN_FILENO) < 0 ||
      ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0) {
    errors.ReportAndExit(errno);
  }
  ::execve("/proc/self/exe", arguments.data(), variables.data());
  errors.ReportAndExit(errno);
}

pid_t Spawn(const ChildProcess& process) {
  std::vector<std::string> words = {"tandem"};
  words.insert(words.end(), process.arguments.begin(), process.arguments.end());
  const Texts arguments(std::move(words));
  const Texts variables(EnvironmentWith(process.variables));
  ErrorPipe errors;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) ExecProgram(arguments, variables, process.log.c_str(), parent, errors);
  const int error = pid < 0 ? errno : errors.Read();
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    throw Error(fmt::format("cannot start a process that logs to {}: {}", process.log.string(),
                            std::strerror(error)));
  }
  return pid;
}

// The children that run. Those that still run when this is destroyed are asked to end. If they take
// too long, they are killed.
class Children {
 public:
  Children() = default;
  ~Children() {
    AskToEnd();
    const auto deadline = std::chrono::steady_clock::now() + kGracePeriod;
    for (RemoveEnded(); !empty() && std::chrono::steady_clock::now() < deadline; RemoveEnded()) {
      std::this_thread::sleep_for(kPollInterval);
    }
    for (const Child& child : running_) ::kill(child.pid, SIGKILL);
    for (const Child& child : running_) ::waitpid(child.pid, nullptr, 0);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void Add(const ChildProcess& process) {
    running_.push_back({.pid = Spawn(process), .number = started_++});
  }

  bool empty() const { return running_.empty(); }

  void AskToEnd() const {
    for (const Child& child : running_) ::kill(child.pid, SIGTERM);
  }

  // Removes a child that has ended. Nothing if all are running.
  std::optional<ChildEnd> TakeEnded() {
    for (auto child = running_.begin(); child != running_.end(); ++child) {
      int status = 0;
      const pid_t ended = ::waitpid(child->pid, &status, WNOHANG);
      if (ended < 0 && errno != EINTR) {
        throw Error(fmt::format("cannot wait for a process: {}", std::strerror(errno)));
      }
      if (ended != child->pid) continue;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      const ChildEnd end{.code = code, .child = child->number};
      running_.erase(child);
      return end;
    }
    return std::nullopt;
  }

 private:
  struct Child {
    pid_t pid;
    std::size_t number;
  };

  void RemoveEnded() noexcept {
    std::erase_if(running_,
                  [](const Child& child) { return ::waitpid(child.pid, nullptr, WNOHANG) != 0; });
  }

  std::vector<Child> running_;
  std::size_t started_ = 0;
};

}  // namespace

ChildEnd RunChildren(std::span<const ChildProcess> children, const StopSignal& stop) {
  Children running;
  for (const ChildProcess& child : children) running.Add(child);
  std::optional<ChildEnd> result;
  bool asked_to_end = false;
  while (!running.empty()) {
    while (const std::optional<ChildEnd> end = running.TakeEnded()) {
      if (!result || (result->code == 0 && end->code != 0)) result = end;
    }
    if (!asked_to_end && (result.value_or(ChildEnd{}).code != 0 || stop.Reached())) {
      running.AskToEnd();
      asked_to_end = true;
    }
    if (!running.empty()) std::this_thread::sleep_for(kPollInterval);
  }
  return result.value();
}

int FreePort() {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = listening >= 0 && ::bind(listening, generic, size) == 0 &&
                     ::getsockname(listening, generic, &size) == 0;
  const int error = errno;
  if (listening >= 0) ::close(listening);
  if (!found) throw Error(fmt::format("cannot find a free TCP port: {}", std::strerror(error)));
  return ntohs(address.sin_port);
}

}  // namespace tandem
