// A CPU device that records the calls of its slots.
#pragma once

#include <ATen/ops/empty.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/device.h"

namespace tandem {

struct SlotEvent {
  std::string what;
  int slot;
  bool operator==(const SlotEvent&) const = default;
};

class SlotRecorder {
 public:
  void Add(std::string what, int slot) {
    const std::lock_guard lock(mutex_);
    events_.push_back({std::move(what), slot});
  }
  std::vector<SlotEvent> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<SlotEvent> events_;
};

// Has separate host and device memory, and EnqueueCopy writes the device memory, as on a GPU.
class RecordingSlot final : public TransferSlot {
 public:
  RecordingSlot(const std::vector<TensorSpec>& tensors, SlotRecorder& recorder, int number)
      : recorder_(recorder), number_(number) {
    for (const TensorSpec& spec : tensors) {
      host_.push_back(at::empty(spec.sizes, spec.type));
      device_.push_back(at::empty(spec.sizes, spec.type));
    }
  }

  std::span<std::byte> host(std::size_t i) override {
    return {static_cast<std::byte*>(host_[i].data_ptr()), host_[i].nbytes()};
  }
  const at::Tensor& device(std::size_t i) const override { return device_[i]; }
  void AwaitHost() override { recorder_.Add("await host", number_); }
  void AwaitReleased() override { recorder_.Add("await released", number_); }
  void EnqueueCopy() override {
    for (std::size_t i = 0; i < host_.size(); ++i) device_[i].copy_(host_[i]);
    recorder_.Add("enqueue", number_);
  }
  void AwaitCopy() override { recorder_.Add("await copy", number_); }
  void Release() noexcept override { recorder_.Add("release", number_); }

 private:
  SlotRecorder& recorder_;
  int number_;
  std::vector<at::Tensor> host_, device_;
};

// Delivers a result when it is awaited, and not before.
class RecordingResultSlot final : public ResultSlot {
 public:
  RecordingResultSlot(SlotRecorder& recorder, int number) : recorder_(recorder), number_(number) {}

  void EnqueueCopy(const at::Tensor& from) override {
    recorder_.Add("enqueue result", number_);
    pending_ = from.clone();
  }
  std::span<const std::byte> Await() override {
    recorder_.Add("await result", number_);
    result_ = pending_.clone();
    return {static_cast<const std::byte*>(result_.const_data_ptr()), result_.nbytes()};
  }

 private:
  SlotRecorder& recorder_;
  int number_;
  at::Tensor pending_, result_;
};

class RecordingEvent final : public DeviceEvent {
 public:
  RecordingEvent(SlotRecorder& recorder, int number) : recorder_(recorder), number_(number) {
    recorder_.Add("record event", number_);
  }
  void Await() override { recorder_.Add("await event", number_); }

 private:
  SlotRecorder& recorder_;
  int number_;
};

class RecordingStream final : public Stream {
 public:
  std::unique_ptr<StreamScope> Enter() override { return std::make_unique<StreamScope>(); }
};

class RecordingDevice : public Device {
 public:
  c10::Device torch() const override { return c10::kCPU; }
  std::string description() const override { return "recording"; }
  bool has_fast_bf16() const override { return false; }
  std::unique_ptr<Stream> MainStream() override { return std::make_unique<RecordingStream>(); }
  std::unique_ptr<Stream> MakeStream() override { return std::make_unique<RecordingStream>(); }
  std::vector<std::unique_ptr<TransferSlot>> MakeSlots(std::size_t count,
                                                       const std::vector<TensorSpec>& tensors,
                                                       const PrefetchConfig& /*config*/) override {
    std::vector<std::unique_ptr<TransferSlot>> slots;
    for (std::size_t i = 0; i < count; ++i) {
      slots.push_back(std::make_unique<RecordingSlot>(tensors, recorder, static_cast<int>(i)));
    }
    return slots;
  }
  std::unique_ptr<ResultSlot> MakeResultSlot(std::size_t /*bytes*/) override {
    return std::make_unique<RecordingResultSlot>(recorder, num_results_++);
  }
  std::unique_ptr<DeviceEvent> RecordEvent() override {
    return std::make_unique<RecordingEvent>(recorder, num_events_++);
  }
  void Synchronize() override { ++synchronizations; }

  SlotRecorder recorder;
  std::atomic<int> synchronizations = 0;

 private:
  int num_results_ = 0;
  int num_events_ = 0;
};

}  // namespace tandem
