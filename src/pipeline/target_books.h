// Keeps the books of which network labelled which buffer.
#pragma once

#include <cstdint>

#include "generate/generator.h"
#include "pipeline/trainer.h"

namespace tandem {

class TargetBooks {
 public:
  TargetBooks(const Generator& generator, Trainer& trainer)
      : asks_network_(generator.asks_network()), trainer_(trainer) {}

  /// Publishes the network as it is after `updates` updates. No fill may be running.
  void Publish(std::int64_t updates) {
    if (!asks_network_) return;
    trainer_.PublishTarget();
    published_ = updates;
  }

  /// Call when the fill of buffer `update` starts.
  void FillStarts(std::int64_t update) { labelled_by_[update % 2] = published_; }

  /// 0 for generators that ask no network.
  std::int64_t LagOf(std::int64_t update) const {
    return asks_network_ ? update - labelled_by_[update % 2] : 0;
  }

 private:
  bool asks_network_;
  Trainer& trainer_;
  std::int64_t published_ = 0;  // the target network starts as a copy of w0
  std::int64_t labelled_by_[2] = {0, 0};
};

}  // namespace tandem
