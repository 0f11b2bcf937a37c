// A network that only the main thread may ask, for generators on another thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>

#include "tandem/evaluator.h"

namespace tandem {

/// The generator thread asks and waits; the main thread answers between its other work, with the
/// network as it is then.
///
/// A question that the network cannot answer fails with its error on the thread that asked, whose
/// fill hands it on. Once closed, nothing waits here any more.
class MainThreadEvaluator final : public Evaluator {
 public:
  /// `network` must outlive this; only Answer and AnswerUntilFillEnds ask it.
  explicit MainThreadEvaluator(Evaluator& network) : network_(network) {}

  // On the generator thread.

  /// Waits for the answer. Throws what the network threw, or what this was closed with.
  void Evaluate(ConstRows inputs, std::span<float> values) override;

  /// Tells the main thread that a fill has ended, well or not.
  void FillEnds();

  // On the main thread.

  /// Answers the question that waits, if one does. Never blocks but in the network.
  void Answer();

  /// Answers questions until one more fill has ended.
  void AnswerUntilFillEnds();

  /// Spent answering so far.
  double seconds() const { return seconds_; }

  /// From now on Evaluate throws `reason`, also where it waits already. The first call counts.
  void Close(std::exception_ptr reason);

 private:
  struct Question {
    ConstRows inputs;
    std::span<float> values;
    bool answered = false;
    std::exception_ptr error;
  };

  void Answer(std::unique_lock<std::mutex>& lock);

  Evaluator& network_;
  // The main thread's own.
  double seconds_ = 0;
  std::int64_t fills_awaited_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below guarded by mutex_. A question's answer is written without it: whoever asked waits.
  Question* question_ = nullptr;  // lives on the stack of the thread that waits
  std::int64_t fills_ended_ = 0;
  std::exception_ptr closed_;
};

}  // namespace tandem
