#include "pipeline/main_thread_evaluator.h"

#include <utility>

#include "base/stopwatch.h"
#include "base/timeline.h"

namespace tandem {

void MainThreadEvaluator::Evaluate(ConstRows inputs, std::span<float> values) {
  const Span span(Phase::kWaitForAnswer);
  Question question{.inputs = inputs, .values = values};
  std::unique_lock lock(mutex_);
  question_ = &question;
  changed_.notify_all();
  // Closing comes from the main thread, so never while it answers.
  changed_.wait(lock, [&] { return question.answered || closed_; });
  question_ = nullptr;
  if (question.error) std::rethrow_exception(question.error);
  if (!question.answered) std::rethrow_exception(closed_);
}

void MainThreadEvaluator::FillEnds() {
  {
    const std::lock_guard lock(mutex_);
    ++fills_ended_;
  }
  changed_.notify_all();
}

void MainThreadEvaluator::Answer() {
  std::unique_lock lock(mutex_);
  Answer(lock);
}

void MainThreadEvaluator::Answer(std::unique_lock<std::mutex>& lock) {
  if (question_ == nullptr || question_->answered) return;
  Question& question = *question_;
  lock.unlock();
  try {
    const ScopedTimer timer(seconds_);
    const Span span(Phase::kAnswer);
    network_.Evaluate(question.inputs, question.values);
  } catch (...) {
    question.error = std::current_exception();
  }
  lock.lock();
  question.answered = true;
  changed_.notify_all();
}

void MainThreadEvaluator::AnswerUntilFillEnds() {
  const Span span(Phase::kWaitForRows);
  ++fills_awaited_;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      const bool asked = question_ != nullptr && !question_->answered;
      return asked || fills_ended_ >= fills_awaited_;
    });
    if (fills_ended_ >= fills_awaited_) return;
    Answer(lock);
  }
}

void MainThreadEvaluator::Close(std::exception_ptr reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) closed_ = std::move(reason);
  }
  changed_.notify_all();
}

}  // namespace tandem
