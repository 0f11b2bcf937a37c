#include "apps/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "tandem/error.h"

namespace tandem {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(20);

// Where a child's standard streams go.
class Redirections {
 public:
  explicit Redirections(const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~Redirections() { posix_spawn_file_actions_destroy(&actions_); }
  Redirections(const Redirections&) = delete;
  Redirections& operator=(const Redirections&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

pid_t Spawn(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  std::vector<char*> argv;
  std::string name = "tandem";
  argv.push_back(name.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const Redirections redirections(log);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, "/proc/self/exe", redirections.get(), nullptr, argv.data(), environ);
  if (error != 0) {
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
      throw Error(fmt::format("waiting for a run: {}", std::strerror(errno)));
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
