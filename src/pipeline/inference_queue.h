// A queue through which the main thread evaluates the network for the generator thread.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <variant>

#include "base/worker.h"
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

  /// Waits until the main thread has written `values`. Throws what the network threw, or the reason
  /// if the queue is closed.
  void Evaluate(ConstRows inputs, std::span<float> values) override;

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
  };
  struct FillEnded {};
  using Message = std::variant<Request, FillEnded>;

  void Handle(const Message& message);
  void Serve(const Request& request);

  Evaluator& network_;
  Channel<Message> messages_{2};
  Channel<std::exception_ptr> results_{1};  // null: the values have been written

  // Used by the main thread only.
  double seconds_ = 0;
  std::int64_t fills_awaited_ = 0;
  std::int64_t fills_ended_ = 0;
};

}  // namespace tandem
