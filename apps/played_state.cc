#include "apps/played_state.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tandem/error.h"

namespace tandem {

PlayedState::PlayedState(const Domain& domain, std::vector<std::uint8_t> start)
    : domain_(domain), state_(std::move(start)) {}

float PlayedState::cost() const {
  float cost = 0;
  for (const PastMove& move : history_) cost += move.cost;
  return cost;
}

std::size_t PlayedState::Move(std::span<const Action> actions) {
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (!Applies(actions[i])) return i;
    history_.push_back({.before = state_, .cost = domain_.spec().action_costs[actions[i]]});
    domain_.Apply(Rows(std::span(state_)), {&actions[i], 1});
  }
  return actions.size();
}

std::size_t PlayedState::Undo(std::size_t count) {
  count = std::min(count, history_.size());
  for (std::size_t i = 0; i < count; ++i) {
    state_ = std::move(history_.back().before);
    history_.pop_back();
  }
  return count;
}

void PlayedState::Start(std::vector<std::uint8_t> start) {
  state_ = std::move(start);
  history_.clear();
}

bool PlayedState::Applies(Action action) const {
  std::vector<std::uint8_t> applies(static_cast<std::size_t>(domain_.spec().num_actions()));
  domain_.Mask(ConstRows(state()), applies);
  return applies[action] != 0;
}

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
