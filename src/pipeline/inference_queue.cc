#include "pipeline/inference_queue.h"

#include "base/stopwatch.h"
#include "base/timeline.h"

namespace tandem {

void InferenceQueue::Evaluate(ConstRows inputs, std::span<float> values) {
  const Span span(Activity::kWaitForInference);
  messages_.Push(Request{.inputs = inputs, .values = values});
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
  for (++fills_awaited_; fills_ended_ < fills_awaited_;) Handle(messages_.Pop());
}

void InferenceQueue::Handle(const Message& message) {
  if (const Request* request = std::get_if<Request>(&message)) {
    Serve(*request);
  } else {
    ++fills_ended_;
  }
}

void InferenceQueue::Serve(const Request& request) {
  std::exception_ptr error;
  try {
    const ScopedTimer timer(seconds_);
    const Span span(Activity::kServe);
    network_.Evaluate(request.inputs, request.values);
  } catch (...) {
    error = std::current_exception();
  }
  results_.Push(error);
}

void InferenceQueue::Close(const std::exception_ptr& reason) {
  messages_.Close(reason);
  results_.Close(reason);
}

}  // namespace tandem
