// Records the LibTorch operators that run while it lives.
#pragma once

#include <ATen/record_function.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

/// `RecordedOps` records the name of each operator that any thread runs, such as "aten::mm", or the
/// text that a function returns for it. Only one may exist at a time.
class RecordedOps {
 public:
  /// Returns what to record, or nothing.
  using Describe = std::function<std::string(const at::RecordFunction&)>;

  explicit RecordedOps(Describe describe = [](const at::RecordFunction& op) {
    return std::string(op.name());
  }) {
    Current() = this;
    describe_ = std::move(describe);
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&OnOp).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  ~RecordedOps() {
    at::removeCallback(handle_);
    Current() = nullptr;
  }
  RecordedOps(const RecordedOps&) = delete;
  RecordedOps& operator=(const RecordedOps&) = delete;

  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return ops_;
  }
  std::ptrdiff_t Count(const std::string& op) const { return std::ranges::count(all(), op); }

 private:
  static RecordedOps*& Current() {
    static RecordedOps* current = nullptr;
    return current;
  }

  static std::unique_ptr<at::ObserverContext> OnOp(const at::RecordFunction& op) {
    RecordedOps& self = *Current();
    if (std::string text = self.describe_(op); !text.empty()) {
      const std::lock_guard lock(self.mutex_);
      self.ops_.push_back(std::move(text));
    }
    return nullptr;
  }

  Describe describe_;
  mutable std::mutex mutex_;
  std::vector<std::string> ops_;
  at::CallbackHandle handle_ = 0;
};

}  // namespace tandem
