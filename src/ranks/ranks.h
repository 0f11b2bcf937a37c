// The processes that train one network together.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/membership.h"
#include "ranks/rank_environment.h"

namespace c10d {
class Backend;
}  // namespace c10d

namespace tandem {

class Device;

/// Ranks lets the processes of a run exchange tensors, by c10d: Gloo for memory of the CPU, and
/// NCCL for that of GPUs where it was built. All ranks must call the same methods in the same
/// order, from their main threads. Each method throws Error if a rank has ended or failed. Its
/// message names that rank; the object can then only be destroyed.
class Ranks {
 public:
  /// Joins the ranks, and waits for all of them. Throws Error if one does not come.
  explicit Ranks(const RankEnvironment& environment);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return membership_.environment().rank; }
  int size() const { return membership_.environment().world_size; }
  const RankEnvironment& environment() const { return membership_.environment(); }

  /// "rank 1 (process 4711 on node3)".
  const std::string& NameOf(int rank) const { return membership_.NameOf(rank); }

  /// From now on, exchanges tensors in the memory of `device` by its own means
  /// (Device::MakeBackend). All ranks must call it; it waits for them. Throws InputError in all
  /// ranks if only some of their devices are GPUs.
  void UseDevice(Device& device);

  /// Throws Error that names the rank if one was lost. Call it after a wait for the device, because
  /// an exchange that was aborted ends without an error and with numbers that mean nothing.
  void CheckAlive();

  /// Replaces `tensor`, contiguous and in the memory of the CPU or of the device, by the sum over
  /// all ranks. The sum is the same in all ranks, bit for bit.
  void Sum(at::Tensor& tensor);

  /// Returns the numbers of all ranks, at [rank]. Each rank passes the same count.
  std::vector<std::vector<double>> Gather(const std::vector<double>& numbers);

  /// Returns the text of rank 0; that of the others is ignored.
  std::string Broadcast(const std::string& text);

  /// Returns after all ranks have called it.
  void Barrier();

  /// Tells the other ranks why this one ends.
  void ReportFailure(std::string_view why) noexcept { membership_.ReportFailure(why); }

  /// Remembers a text for later starts of the ranks by the same launcher (Membership).
  void Remember(const std::string& text) { membership_.Remember(text); }
  bool Remembers(const std::string& text) const { return membership_.Remembers(text); }

  /// Seconds that the main thread has waited for the other ranks.
  double wait_s() const { return wait_s_; }

 private:
  // Waits for the exchange that begin() starts, which returns its c10d::Work.
  template <class Begin>
  void Exchange(const Begin& begin);
  void CheckSameKind(const Device& device);
  [[noreturn]] void FailBecause(const std::string& why);
  bool TryToEndDevice() noexcept;

  Membership membership_;
  c10::intrusive_ptr<c10d::Backend> host_;    // for memory of the CPU
  c10::intrusive_ptr<c10d::Backend> device_;  // for that of the device; may be host_
  std::function<void()> end_device_;          // ends its exchanges, once; empty if it is host_
  double wait_s_ = 0;
  bool stuck_ = false;  // work was given up, so its threads may never return
};

}  // namespace tandem
