// The processes that train one network together.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <string>
#include <vector>

#include "base/stop_signal.h"
#include "ranks/membership.h"

namespace c10d {
class Backend;
}  // namespace c10d

namespace tandem {

class Device;

/// Ranks is a Membership whose processes can exchange tensors, by c10d: Gloo for memory of the CPU,
/// and NCCL for that of GPUs where it was built. All ranks must call the same methods of this class
/// in the same order, from their main threads. Each method throws Error if a rank has ended or
/// failed. Its message names that rank; the object can then only be destroyed.
class Ranks final : public Membership {
 public:
  /// Joins the ranks, and waits for all of them. Throws Error if one does not come.
  explicit Ranks(const RankEnvironment& environment);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

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

  /// Seconds that the main thread has waited for the other ranks.
  double wait_s() const { return wait_s_; }

 private:
  // Waits for the exchange that begin() starts, which returns its c10d::Work.
  template <class Begin>
  void Exchange(const Begin& begin);
  void CheckSameKind(const Device& device);
  [[noreturn]] void FailBecause(const std::string& why);
  bool TryToEndDevice() noexcept;

  c10::intrusive_ptr<c10d::Backend> host_;    // for memory of the CPU
  c10::intrusive_ptr<c10d::Backend> device_;  // for that of the device; may be host_
  std::function<void()> end_device_;          // ends its exchanges, once; empty if it is host_
  double wait_s_ = 0;
  bool stuck_ = false;  // work was given up, so its threads may never return
};

/// AgreedStop holds a stop of this rank back until all ranks know of it. In each iteration, every
/// rank votes for a stop because it was requested (wants_stop) or because its time is up.
/// GradientReducer reads the votes of all ranks in the next iteration, but never later than the end
/// of the update, and calls Decide. Only then `signal` is reached. Use it from the main thread;
/// other threads may read the signal.
class AgreedStop {
 public:
  /// `local` has this rank's stop requests and its time limit. It must outlive this object.
  explicit AgreedStop(const StopSignal& local) : local_(local) {}

  bool wants_stop() const { return local_.requested(); }
  bool time_is_up() const { return local_.deadline_passed(); }

  /// What the ranks agreed on: whether any of them was requested to stop, or has no time left.
  void Decide(bool requested, bool time_is_up) {
    requested_ = requested_ || requested;
    if (requested || time_is_up) signal_.Request();
  }

  /// Whether a rank was requested to stop; otherwise a stop is due to the time limit.
  bool requested() const { return requested_; }

  const StopSignal& signal() const { return signal_; }

 private:
  const StopSignal& local_;
  StopSignal signal_;
  bool requested_ = false;
};

/// RankCores says which cores a rank may use.
struct RankCores {
  double machine;  ///< a number that the machine's ranks have in common
  double mask;     ///< a number that ranks with the same affinity mask have in common
  double count;    ///< of the cores in that mask
  double quota;    ///< in cores, of the control groups; infinite if there is none
};

/// Returns how many cores every rank can use, at least 1. Ranks of a machine divide a quota, and
/// those with the same mask also divide its cores. The launcher may have bound each to its own.
int CoresOfEach(const std::vector<RankCores>& ranks);

/// Does this for the ranks of a run, which must all call it.
int CoresOfEach(Ranks& ranks);

}  // namespace tandem
