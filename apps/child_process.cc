#include "apps/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(20);

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

// Runs in the child. Only async-signal-safe calls are allowed there, because other threads of the
// parent may have held locks at the fork.
[[noreturn]] void BecomeProgram(char* const* argv, const char* log, pid_t parent,
                                const ErrorPipe& errors) {
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
  ::execv("/proc/self/exe", argv);
  errors.ReportAndExit(errno);
}

pid_t Spawn(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  std::vector<char*> argv;
  std::string name = "tandem";
  argv.push_back(name.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ErrorPipe errors;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) BecomeProgram(argv.data(), log.c_str(), parent, errors);
  const int error = pid < 0 ? errno : errors.Read();
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    throw Error(
        fmt::format("cannot start a run that logs to {}: {}", log.string(), std::strerror(error)));
  }
  return pid;
}

}  // namespace

int RunSelf(const std::vector<std::string>& arguments, const std::filesystem::path& log,
            const StopSignal& stop) {
  const pid_t pid = Spawn(arguments, log);
  int status = 0;
  bool asked_to_end = false;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) {
      throw Error(fmt::format("cannot wait for a run: {}", std::strerror(errno)));
    }
    if (!asked_to_end && stop.Reached()) {
      ::kill(pid, SIGTERM);
      asked_to_end = true;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tandem
