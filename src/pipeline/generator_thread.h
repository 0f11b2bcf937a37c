// The generator thread, the two buffers it fills, and the queue of its requests to the main thread.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/worker.h"
#include "data/double_buffer.h"
#include "generate/generator.h"
#include "tandem/evaluator.h"

namespace tandem {

/// InferenceQueue lets the generator thread query a network that only the main thread may use.
/// The generator thread waits while the main thread serves its request in between other work, with
/// the weights that the network has at that moment.
///
/// There is at most one request at a time. If the network throws, Evaluate rethrows the exception
/// on the generator thread, which ends the fill.
class InferenceQueue final : public Evaluator {
 public:
  /// `network` must outlive this object. Only the Serve methods evaluate with it.
  explicit InferenceQueue(Evaluator& network) : network_(network) {}

  // Methods for the generator thread.

  bool estimates_states() const override { return network_.estimates_states(); }
  ActionValues action_values() const override { return network_.action_values(); }

  /// Wait until the main thread has written `values`. Throw what the network threw, or the reason
  /// if the queue is closed.
  void Evaluate(ConstRows inputs, std::span<float> values) override {
    Await({inputs, values, &Evaluator::Evaluate});
  }
  void EvaluateActions(ConstRows inputs, std::span<float> values) override {
    Await({inputs, values, &Evaluator::EvaluateActions});
  }
  void EvaluateWithActions(ConstRows inputs, std::span<float> values) override {
    Await({inputs, values, &Evaluator::EvaluateWithActions});
  }

  /// Reports to the main thread that a fill has ended, successfully or not.
  void FillEnds() noexcept;

  // Methods for the main thread.

  /// Serves the waiting request, if there is one. Does not wait for a request.
  void Serve();

  /// Serves requests until one more fill has ended. Call it once per fill.
  void ServeUntilFillEnds();

  /// Total time spent in the network, in seconds.
  double seconds() const { return seconds_; }

  /// Makes every waiting and later Evaluate throw `reason`. Only the first call counts.
  void Close(const std::exception_ptr& reason);

 private:
  struct Request {
    ConstRows inputs;
    std::span<float> values;
    void (Evaluator::*evaluate)(ConstRows inputs, std::span<float> values);
  };
  struct FillEnded {};
  using Message = std::variant<Request, FillEnded>;

  void Await(const Request& request);
  void Handle(const Message& message);
  void Serve(const Request& request);

  Evaluator& network_;
  Channel<Message> messages_{2};
  Channel<std::exception_ptr> results_{1};  // null: the values have been written

  // Used by the main thread only.
  double seconds_ = 0;
  bool fill_ended_ = false;
};

/// The name of the arrow in traces that leads from the fill of a buffer to the training on it.
inline constexpr std::string_view kRowsArrow = "rows";

/// The name of the thread in traces and in the run's time profile.
inline constexpr const char* kGeneratorThread = "generator";

/// FillStats says when a fill began, how long it took, and how its searches went. The fill of an
/// update that needed none has no length and begins with the update.
struct FillStats {
  Stopwatch::Clock::time_point began;
  double seconds = 0;  ///< time in Generator::Fill
  double wait_s = 0;   ///< idle time of the generator thread before this fill
  std::optional<std::int64_t> longest_scramble;  ///< FillRequest::longest_scramble
  std::optional<double> searches_solved;         ///< Generator::searches_solved
};

/// GeneratorThread runs fills on its own thread, one at a time, into the two buffers of a
/// DoubleBuffer. Call Start and Wait from one thread, in turn.
class GeneratorThread {
 public:
  struct Filled {
    DoubleBuffer::ReadSlot slot;
    FillStats stats;
  };

  /// Fills buffers of `rows` rows, the part of rank `rank` if several processes fill the rows of an
  /// update together. `queue` learns of the end of each fill; it is null except in sync_main.
  /// `stop` ends fills early. `interrupter`, if there is one, ends the waits for buffers and for
  /// the queue. All must outlive this object.
  GeneratorThread(Generator& generator, std::int64_t rows, InferenceQueue* queue,
                  const StopSignal& stop, Interrupter* interrupter = nullptr,
                  std::int64_t rank = 0);

  /// Stops the running fill, if any, and waits until it has ended. Its rows are discarded. Random
  /// numbers are keyed by row, so a later fill of the same update makes the same rows again.
  ~GeneratorThread();
  GeneratorThread(const GeneratorThread&) = delete;
  GeneratorThread& operator=(const GeneratorThread&) = delete;

  /// Starts the fill of buffer `update` and returns at once. `longest_scramble` is that of the
  /// FillRequest.
  void Start(std::int64_t update, std::optional<std::int64_t> longest_scramble);

  /// Waits for the fill that was started. Throws what the fill threw.
  Filled Wait();

 private:
  DoubleBuffer::WriteSlot AcquireWrite();
  void Fill(const FillRequest& request);

  Generator& generator_;
  const std::int64_t rows_;
  const std::int64_t first_row_;
  InferenceQueue* const queue_;
  StopSignal stop_;
  DoubleBuffer buffers_;

  // Needs no lock, because the hand-over of the buffer orders the accesses: the generator thread
  // writes it before it commits a buffer, Wait reads it after it has acquired that buffer, and
  // the generator thread does not write it again before the next Start.
  FillStats last_fill_;
  Stopwatch idle_;  // used by the generator thread only

  Interrupter::Registration registration_;

  Worker thread_;  // declared last, so that it ends before the members that it uses
};

}  // namespace tandem
