// Training runs as Python sees them.
#include "train/training.h"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "bindings.h"
#include "config.h"
#include "domain.h"
#include "interrupt.h"
#include "tandem/error.h"

namespace tandem::python {
namespace {

namespace nb = nanobind;

/// Idle says at the end of its scope that no thread uses a run any more.
class Idle {
 public:
  explicit Idle(std::atomic<bool>& working) : working_(working) {}
  ~Idle() {
    working_.store(false);
    working_.notify_all();
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

 private:
  std::atomic<bool>& working_;
};

/// PythonTraining is a Training that finishes by itself once it ends. Work is done without the
/// GIL, also when threads are joined, because a puzzle in Python takes it in those threads.
class PythonTraining {
 public:
  PythonTraining(const Config& config, const std::filesystem::path& folder) : folder_(folder) {
    RunInterruptibly(*stop_, [&] {
      training_ = std::make_unique<Training>(config, folder, stop_.get());
      progress_ = training_->progress();
    });
  }

  // Resumes a run.
  PythonTraining(const std::filesystem::path& folder, const Settings& settings) : folder_(folder) {
    RunInterruptibly(*stop_, [&] {
      training_ = Training::Resume(folder, ToOverrides(settings), stop_.get());
      progress_ = training_->progress();
    });
  }

  ~PythonTraining() { EndThreads(/*claimed=*/true); }

  // Does the next update. Returns nothing if the run has ended.
  std::optional<TrainingProgress> RunUpdate() {
    const std::int64_t before = progress_.iterations;
    Work([](Training& training) { return training.RunUpdate(); });
    if (progress_.iterations == before) return std::nullopt;
    return progress_;
  }

  // Ends the run before its last update, and writes its checkpoint and its summary.
  std::optional<TrainingResult> Finish() {
    stop_->Request();
    Work([](Training& training) {
      training.RunUpdate();  // notices the stop
      return false;
    });
    return result_;
  }

  void RequestStop() { stop_->Request(); }

  // Ends the threads. The folder keeps the last checkpoint. If another thread does an update, waits
  // until it has stopped, unless that update may wait for the caller.
  void Close() {
    const bool claimed = Claim();
    if (!claimed && IsCalledByWork()) {
      throw Error(
          "the run is at work, and a method of a puzzle or a network cannot wait for it. Call "
          "stop() to end it.");
    }
    EndThreads(claimed);
  }

  bool closed() const { return closed_; }
  const std::filesystem::path& folder() const { return folder_; }
  const TrainingProgress& progress() const { return progress_; }
  const std::optional<TrainingResult>& result() const { return result_; }

 private:
  // Calls `work`, and finishes the run if it returns false. Does nothing if the run has ended.
  // Throws Error if it was closed. A run that fails has saved the state before its update, and can
  // only be resumed.
  void Work(const std::function<bool(Training&)>& work) {
    if (closed_) {
      throw Error("the run is closed. Training.resume continues it from its last checkpoint.");
    }
    if (!Claim()) throw Error("the run is at work in another thread. Call stop() to end it.");
    std::optional<Idle> idle(working_);
    if (training_ == nullptr) return;
    RunInterruptibly(*stop_, [&] {
      try {
        if (work(*training_)) {
          Keep(training_->progress());
        } else {
          FinishNow();
        }
      } catch (...) {
        training_.reset();
        throw;
      }
      idle.reset();  // the handler of Ctrl-C, which is called next, may close the run
    });
  }

  // Returns whether this thread may use `training_` from now on.
  bool Claim() { return !working_.exchange(true); }

  static bool IsCalledByWork() { return IsInPuzzleMethod() || IsInModule(); }

  // Python may collect garbage in any thread, even in one of the run, which cannot wait for itself;
  // another thread waits then.
  void EndThreads(bool claimed) {
    closed_ = true;
    stop_->Request();
    const nb::gil_scoped_release release;
    for (; !claimed; claimed = Claim()) working_.wait(true);
    const Idle idle(working_);
    if (IsCalledByWork()) {
      std::thread([stop = stop_, work = std::move(training_)]() mutable { work.reset(); }).detach();
    }
    training_.reset();
  }

  void FinishNow() {
    const TrainingResult result = training_->Finish();
    const TrainingProgress progress = training_->progress();
    training_.reset();  // unlocks the folder, so that the run can be resumed
    Keep(progress, result);
  }

  // Properties read these members in other threads, so they are written while the GIL is held.
  void Keep(const TrainingProgress& progress,
            const std::optional<TrainingResult>& result = std::nullopt) {
    const nb::gil_scoped_acquire gil;
    progress_ = progress;
    result_ = result;
  }

  std::filesystem::path folder_;
  const std::shared_ptr<StopSignal> stop_ = std::make_shared<StopSignal>();  // outlives training_
  std::atomic<bool> working_{false};    // a thread uses `training_`; only that thread may
  std::unique_ptr<Training> training_;  // null once the run has ended

  // Guarded by the GIL.
  bool closed_ = false;
  TrainingProgress progress_;
  std::optional<TrainingResult> result_;
};

std::string OrNone(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "None";
}

void BindProgress(nb::module_& module) {
  nb::class_<TrainingProgress>(module, "Progress", "How far a training run is.")
      .def_ro("updates", &TrainingProgress::updates, "Complete updates.")
      .def_ro("iterations", &TrainingProgress::iterations, "Training steps.")
      .def_ro("examples", &TrainingProgress::examples, "Examples trained on.")
      .def_ro("seconds", &TrainingProgress::seconds, "Time since the run began.")
      .def_ro("loss", &TrainingProgress::loss, "Loss of the last update, or None.")
      .def_ro("solve_rate", &TrainingProgress::solve_rate,
              "Share of the validation states that are solved, from 0 to 1; None before "
              "the first validation.")
      .def_ro("value_error", &TrainingProgress::value_error,
              "Error of the estimates in the last validation, or None.")
      .def("__repr__", [](const TrainingProgress& p) {
        return fmt::format(
            "<tandem.Progress updates={} examples={} seconds={:.1f} loss={} solve_rate={}>",
            p.updates, p.examples, p.seconds, OrNone(p.loss), OrNone(p.solve_rate));
      });
  nb::class_<TrainingResult>(module, "TrainingResult", "What a training run has done.")
      .def_ro("updates", &TrainingResult::updates, "Complete updates.")
      .def_ro("examples", &TrainingResult::examples, "Examples trained on.")
      .def_ro("seconds", &TrainingResult::seconds, "Time of the run.")
      .def_ro("final_loss", &TrainingResult::final_loss, "Loss of the last update.")
      .def_ro("solve_rate", &TrainingResult::solve_rate,
              "Share of the validation states that are solved, from 0 to 1, or None.")
      .def_ro("weights_sha256", &TrainingResult::weights_sha256, "SHA-256 of the weights.")
      .def("__repr__", [](const TrainingResult& r) {
        return fmt::format("<tandem.TrainingResult updates={} seconds={:.1f} solve_rate={}>",
                           r.updates, r.seconds, OrNone(r.solve_rate));
      });
}

}  // namespace

void BindTraining(nb::module_& module) {
  BindProgress(module);
  nb::class_<PythonTraining>(module, "Training", nb::is_weak_referenceable())
      .def(nb::init<const Config&, const std::filesystem::path&>(), nb::arg("config"),
           nb::arg("folder"))
      .def(nb::init<const std::filesystem::path&, const Settings&>(), nb::arg("folder"),
           nb::arg("settings"))
      .def("run_update", &PythonTraining::RunUpdate,
           "Does the next update and returns the progress, or None if the run has ended.\n\n"
           "Raises RuntimeError after `close`.")
      .def("finish", &PythonTraining::Finish,
           "Ends the run, also before its last update, and returns its tandem.TrainingResult.\n\n"
           "Validates the network, and writes the checkpoint and the summary. Returns None if the "
           "run has failed.\nRaises RuntimeError after `close`.")
      .def("stop", &PythonTraining::RequestStop,
           "Ends the run after the current step. May be called from any thread.")
      .def("close", &PythonTraining::Close,
           "Ends the threads of the run without writing anything. The folder keeps the last "
           "checkpoint.\n\nThe run cannot go on after this; `Training.resume` continues "
           "it.\nRaises RuntimeError in a method of a puzzle or a network during an update.")
      .def_prop_ro("closed", &PythonTraining::closed, "Whether `close` was called.")
      .def_prop_ro("folder", &PythonTraining::folder, "The folder of the run.")
      .def_prop_ro("progress", &PythonTraining::progress, "The tandem.Progress of the run.")
      .def_prop_ro("result", &PythonTraining::result,
                   "The tandem.TrainingResult once the run has ended, else None.");
}

}  // namespace tandem::python
