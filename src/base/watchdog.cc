#include "base/watchdog.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <utility>

namespace tandem {
namespace {

// What a thread in these activities waits for.
constexpr auto kWaits = std::to_array<std::pair<Activity, std::string_view>>({
    {Activity::kWaitForWorkers, "its workers to finish their ranges of rows"},
    {Activity::kWaitForInference, "the main thread to serve its request in the inference queue"},
    {Activity::kWaitForFreeSlot, "the trainer to give back one of the two buffers"},
    {Activity::kWaitForRoom, "room in the queue behind it"},
    {Activity::kWaitForChunk, "the disk thread to read the next chunk"},
    {Activity::kGpuQueueWait, "the queue of chunks on the device"},
    {Activity::kWaitForRows, "the generator to fill a buffer"},
    {Activity::kWaitForBatch, "the prefetch thread to make a batch"},
    {Activity::kWaitForDevice, "the device"},
    {Activity::kWaitForRanks, "the other ranks"},
    {Activity::kWaitForDisk, "files to be written"},
});

std::string Describe(const ThreadState& thread) {
  std::string text = fmt::format("{}: {} for {:.1f} s", thread.name, ActivityName(thread.activity),
                                 thread.seconds);
  for (const auto& [activity, what] : kWaits) {
    if (thread.activity == activity) text += fmt::format(", waits for {}", what);
  }
  return text;
}

bool IsIdle(const ThreadState& thread) { return thread.activity == Activity::kIdle; }

// Waiting for the device is a wait, but nobody else of the run would end it.
bool Works(const ThreadState& thread) {
  return !IsWait(thread.activity) || thread.activity == Activity::kWaitForDevice;
}

}  // namespace

std::string DescribeStall(const std::vector<ThreadState>& threads, double limit_s) {
  const auto is_silent = [&](const ThreadState& thread) { return thread.seconds >= limit_s; };
  const auto stuck = std::ranges::find_if(threads, [&](const ThreadState& thread) {
    return !IsIdle(thread) && Works(thread) && is_silent(thread);
  });
  const bool all_wait = !threads.empty() && !IsIdle(threads.front()) &&
                        std::ranges::all_of(threads, [&](const ThreadState& thread) {
                          return IsIdle(thread) || is_silent(thread);
                        });
  if (stuck == threads.end() && !all_wait) return "";
  std::string text = stuck != threads.end()
                         ? fmt::format("no progress for {:g} s in thread {}", limit_s, stuck->name)
                         : fmt::format("no progress for {:g} s: all threads wait", limit_s);
  for (const ThreadState& thread : threads) {
    if (!IsIdle(thread)) text += "\n  " + Describe(thread);
  }
  return text;
}

Watchdog::Watchdog(const Timeline& timeline, double limit_s, Actions actions)
    : timeline_(timeline),
      limit_s_(limit_s),
      actions_(std::move(actions)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {
  pthread_setname_np(thread_.native_handle(), "watchdog");
}

void Watchdog::Run(const std::stop_token& stop) {
  const std::chrono::duration<double> interval(limit_s_ / 8);
  std::mutex mutex;
  std::condition_variable_any sleep;
  std::unique_lock lock(mutex);
  while (true) {
    sleep.wait_for(lock, stop, interval, [] { return false; });
    if (stop.stop_requested()) return;
    try {
      Look();
    } catch (...) {
      // An exception that leaves a thread ends the program.
    }
  }
}

void Watchdog::Look() {
  std::vector<ThreadState> threads;
  for (const Track* track : timeline_.Tracks()) threads.push_back(track->State());
  const std::string stall = DescribeStall(threads, limit_s_);
  if (stall.empty()) {
    reported_ = false;
    gave_up_ = false;
  } else if (!reported_) {
    since_report_ = Stopwatch();
    if (actions_.on_stall) actions_.on_stall(stall);
    reported_ = true;  // not before, so that a report that failed is made again
  } else if (!gave_up_ && since_report_.Seconds() >= limit_s_) {
    gave_up_ = true;
    if (actions_.on_no_recovery) actions_.on_no_recovery();
  }
}

}  // namespace tandem
