// The trace events of one thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tandem {

/// TraceEvent is a scope of a thread, or one end of an arrow between two threads.
struct TraceEvent {
  enum class Kind : std::uint8_t { kSpan, kArrowStart, kArrowEnd };
  static constexpr std::int64_t kNoNumber = -1;

  Kind kind = Kind::kSpan;
  std::string_view name;            ///< must have static storage duration
  std::int64_t number = kNoNumber;  ///< an update or iteration; for an arrow, the same at both ends
  std::chrono::steady_clock::time_point begin, end;  ///< equal for the ends of arrows
};

/// TraceLog is an append-only log with one writer thread, which never waits. Any thread may read it
/// at any time.
class TraceLog {
 public:
  TraceLog() = default;
  ~TraceLog();
  TraceLog(const TraceLog&) = delete;
  TraceLog& operator=(const TraceLog&) = delete;

  /// Appends an event. For the writer thread only.
  void Append(const TraceEvent& event);

  /// All events appended so far, in order.
  std::vector<TraceEvent> Events() const;

 private:
  // An event is written before `size` counts it, and a block is full before `next` is set.
  struct Block {
    std::array<TraceEvent, 1024> events;
    std::atomic<std::size_t> size{0};
    std::atomic<Block*> next{nullptr};  // owned
  };

  std::atomic<Block*> first_{nullptr};  // owned; null while the log is empty
  Block* last_ = nullptr;               // used only by the writer
};

}  // namespace tandem
