// What one thread did and when, for a picture.
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

struct TraceEvent {
  enum class Kind : std::uint8_t { kSpan, kArrowStart, kArrowEnd };
  static constexpr std::int64_t kNoNumber = -1;

  Kind kind = Kind::kSpan;
  std::string_view name;  ///< of static storage
  std::int64_t number =
      kNoNumber;  ///< of an update or iteration; of an arrow, which both ends have
  std::chrono::steady_clock::time_point begin, end;  ///< equal, for the ends of arrows
};

/// Events of one writer, which never waits, for readers that may come at any time.
class TraceLog {
 public:
  TraceLog() = default;
  ~TraceLog();
  TraceLog(const TraceLog&) = delete;
  TraceLog& operator=(const TraceLog&) = delete;

  /// By the writer alone.
  void Append(const TraceEvent& event);

  /// All that had been appended, in that order.
  std::vector<TraceEvent> Events() const;

 private:
  // An event is written before it is counted, and a block filled before the next is linked to it.
  struct Block {
    std::array<TraceEvent, 1024> events;
    std::atomic<std::size_t> size{0};
    std::atomic<Block*> next{nullptr};  // owned
  };

  std::atomic<Block*> first_{nullptr};  // owned; null until something is appended
  Block* last_ = nullptr;               // the writer's
};

}  // namespace tandem
