// Network queries of the generator thread, which the main thread serves.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>

#include "base/channel.h"
#include "tandem/evaluator.h"

namespace tandem {

/// `InferenceQueue` lets the generator thread query a network that only the main thread may use.
/// The generator waits; the main thread serves the request between its other work, with the network
/// as it is then.
///
/// If the network throws, the exception reaches the generator thread and ends its fill. One request
/// at a time.
class InferenceQueue final : public Evaluator {
 public:
  /// `network` must outlive this. Only the Serve methods use it.
  explicit InferenceQueue(Evaluator& network) : network_(network) {}

  // On the generator thread.

  /// Waits for the result. Throws what the network threw, or the reason if the queue is closed.
  void Evaluate(ConstRows inputs, std::span<float> values) override;

  /// Reports to the main thread that a fill has ended, successfully or not.
  void FillEnds() noexcept;

  // On the main thread.

  /// Serves the waiting request, if there is one. Waits for nothing but the network.
  void Serve();

  /// Serves requests until one more fill has ended.
  void ServeUntilFillEnds();

  /// Total time in the network, in seconds.
  double seconds() const { return seconds_; }

  /// Makes Evaluate throw `reason` from now on, also where it already waits. Only the first call
  /// counts.
  void Close(const std::exception_ptr& reason);

 private:
  struct Request {
    ConstRows inputs;
    std::span<float> values;
  };
  using Message = std::optional<Request>;  // nothing: a fill has ended

  void Handle(const Message& message);

  Evaluator& network_;
  Channel<Message> messages_{2};
  Channel<std::exception_ptr> results_{1};  // null: the values are there

  // The main thread's own.
  double seconds_ = 0;
  std::int64_t fills_awaited_ = 0;
  std::int64_t fills_ended_ = 0;
};

}  // namespace tandem
