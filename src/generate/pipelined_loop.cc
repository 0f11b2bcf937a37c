#include "generate/pipelined_loop.h"

#include <utility>

#include "base/parallel.h"

namespace tandem {

PipelinedLoop::PipelinedLoop(tbb::task_arena& arena, std::int64_t turns, const StopSignal& stop,
                             Turn prepare, Turn evaluate)
    : arena_(arena),
      turns_(turns),
      stop_(stop),
      prepare_(std::move(prepare)),
      evaluate_(std::move(evaluate)),
      timeline_(Timeline::Current()) {
  StartPreparing(0);
}

PipelinedLoop::~PipelinedLoop() {
  try {
    FinishPreparing();  // the task uses members of this object and of the caller
  } catch (...) {
    // Step has thrown another exception, or the caller does not want the remaining turns.
  }
}

bool PipelinedLoop::Step() {
  if (next_ == turns_) return false;
  FinishPreparing();
  if (stop_.Reached()) throw Stopped();
  StartPreparing(next_ + 1);
  evaluate_(next_++);
  return true;
}

void PipelinedLoop::StartPreparing(std::int64_t turn) {
  if (turn >= turns_) return;
  SanitizerRelease(this);
  arena_.execute([&] {
    preparation_.run([this, turn] {
      SanitizerAcquire(this);
      {
        const Attach attach(timeline_);
        const Span span(Phase::kGenerate);
        prepare_(turn);
      }
      SanitizerRelease(this);
    });
  });
}

void PipelinedLoop::FinishPreparing() {
  const Span span(Phase::kWaitForWorkers);
  arena_.execute([&] { preparation_.wait(); });
  SanitizerAcquire(this);
}

}  // namespace tandem
