#include "apps/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tandem/error.h"

namespace tandem {
namespace {

// A signal that arrives between the check of `stop` and the wait is noticed after this time.
constexpr int kPollIntervalMs = 100;

}  // namespace

std::optional<std::string> LineReader::Next(const StopSignal& stop) {
  std::size_t end = read_.find('\n');
  while (end == std::string::npos) {
    const std::size_t seen = read_.size();
    if (!Fill(stop)) break;
    end = read_.find('\n', seen);
  }
  if (stop.Reached() || (end == std::string::npos && read_.empty())) return std::nullopt;
  std::string line = read_.substr(0, end);
  read_.erase(0, end == std::string::npos ? end : end + 1);
  return line;
}

// Waits for more input. Returns false at the end of the input or once `stop` is reached.
bool LineReader::Fill(const StopSignal& stop) {
  while (!stop.Reached()) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&input, 1, kPollIntervalMs) <= 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw Error(std::string("cannot read standard input: ") + std::strerror(errno));
    }
    read_.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0;
  }
  return false;
}

}  // namespace tandem
