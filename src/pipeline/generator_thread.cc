#include "pipeline/generator_thread.h"

#include <fmt/format.h>

#include <utility>

#include "base/timeline.h"
#include "config/fields.h"
#include "data/examples.h"

namespace tandem {

void InferenceQueue::Await(const Request& request) {
  const Span span(Activity::kWaitForInference);
  messages_.Push(request);
  if (const std::exception_ptr error = results_.Pop()) std::rethrow_exception(error);
}

void InferenceQueue::FillEnds() noexcept {
  try {
    messages_.Push(FillEnded());
  } catch (...) {
    // The queue is closed, or there is no memory. The main thread must not wait for this message.
    Close(std::current_exception());
  }
}

void InferenceQueue::Serve() {
  if (const std::optional<Message> message = messages_.TryPop()) Handle(*message);
}

void InferenceQueue::ServeUntilFillEnds() {
  const Span span(Activity::kWaitForRows);
  while (!fill_ended_) Handle(messages_.Pop());
  fill_ended_ = false;
}

void InferenceQueue::Handle(const Message& message) {
  if (const Request* request = std::get_if<Request>(&message)) {
    Serve(*request);
  } else {
    fill_ended_ = true;
  }
}

void InferenceQueue::Serve(const Request& request) {
  std::exception_ptr error;
  try {
    const ScopedTimer timer(seconds_);
    const Span span(Activity::kServe);
    (network_.*request.evaluate)(request.inputs, request.values);
  } catch (...) {
    error = std::current_exception();
  }
  results_.Push(error);
}

void InferenceQueue::Close(const std::exception_ptr& reason) {
  messages_.Close(reason);
  results_.Close(reason);
}

namespace {

DataBuffer MakeBuffer(const Generator& generator, std::int64_t rows) {
  return WithMemoryAdvice(kToSpareBuffers,
                          [&] { return generator.MakeBuffer(static_cast<std::size_t>(rows)); });
}

}  // namespace

GeneratorThread::GeneratorThread(Generator& generator, std::int64_t rows, InferenceQueue* queue,
                                 const StopSignal& stop, Interrupter* interrupter,
                                 std::int64_t rank)
    : generator_(generator),
      rows_(rows),
      first_row_(rank * rows),
      queue_(queue),
      stop_(&stop),
      buffers_(MakeBuffer(generator, rows), MakeBuffer(generator, rows)),
      registration_(interrupter,
                    [this](const std::exception_ptr& reason) {
                      buffers_.Close(reason);
                      if (queue_ != nullptr) queue_->Close(reason);
                    }),
      thread_(kGeneratorThread) {}

GeneratorThread::~GeneratorThread() {
  stop_.Request();
  buffers_.Close(std::make_exception_ptr(Stopped()));
}

void GeneratorThread::Start(std::int64_t update, std::optional<std::int64_t> longest_scramble) {
  const Span span(Activity::kGenerate);
  const FillRequest request{.update = update,
                            .first_row = first_row_,
                            .rows = rows_,
                            .longest_scramble = longest_scramble};
  thread_.Post([this, request] {
    try {
      Fill(request);
    } catch (...) {
      buffers_.Close(std::current_exception());
    }
    if (queue_ != nullptr) queue_->FillEnds();
  });
}

GeneratorThread::Filled GeneratorThread::Wait() {
  const Span span(Activity::kWaitForRows);
  DoubleBuffer::ReadSlot slot = buffers_.AcquireRead();
  return {.slot = std::move(slot), .stats = last_fill_};
}

DoubleBuffer::WriteSlot GeneratorThread::AcquireWrite() {
  const Span span(Activity::kWaitForFreeSlot);
  return buffers_.AcquireWrite();
}

void GeneratorThread::Fill(const FillRequest& request) {
  const Section section("fill", request.update);
  const Span span(Activity::kGenerate);
  DoubleBuffer::WriteSlot slot = AcquireWrite();
  FillStats stats{.began = Stopwatch::Clock::now(),
                  .wait_s = idle_.Seconds(),
                  .longest_scramble = request.longest_scramble};
  try {
    const ScopedTimer timer(stats.seconds);
    generator_.Fill(request, slot.rows(), stop_);
    stats.searches_solved = generator_.searches_solved();
    if (HasTargets(generator_.schema()) && slot.rows().memory() == Memory::kHost) {
      CheckTargets(slot.rows(), fmt::format("the rows of update {}", request.update));
    }
  } catch (...) {
    // Close with the real reason before the uncommitted slot closes the pair with a general one.
    buffers_.Close(std::current_exception());
    return;
  }
  last_fill_ = stats;
  idle_ = Stopwatch();
  StartArrow(kRowsArrow, request.update);
  slot.Commit();
}

}  // namespace tandem
