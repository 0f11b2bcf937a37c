// Trained networks as Python sees them.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arrays.h"
#include "base/parallel.h"
#include "bindings.h"
#include "config.h"
#include "domain.h"
#include "interrupt.h"
#include "solve.h"
#include "tandem/error.h"
#include "train/trained_network.h"

namespace tandem::python {
namespace {

/// NetworkUse is one thread's use of a network. It waits until other threads are done. Create it
/// without the GIL, because the thread that uses the network may need the GIL meanwhile.
class NetworkUse {
 public:
  /// Owner says which thread uses a network.
  struct Owner {
    std::mutex mutex;
    std::atomic<std::thread::id> thread;
  };

  /// Throws Error if this thread uses the network already, because the handler of a signal calls it
  /// during a search, or if a method of a puzzle would wait for it, because a search may wait for
  /// that method.
  explicit NetworkUse(Owner& owner) : owner_(owner) {
    if (owner_.thread == std::this_thread::get_id() || !Lock()) {
      throw Error(
          "the network is in use, and a method of a puzzle or the handler of a signal cannot wait "
          "for it. Use it after the search, or use another tandem.Network.");
    }
    owner_.thread = std::this_thread::get_id();
  }

  ~NetworkUse() {
    owner_.thread = std::thread::id();
    owner_.mutex.unlock();
  }

  NetworkUse(const NetworkUse&) = delete;
  NetworkUse& operator=(const NetworkUse&) = delete;

 private:
  bool Lock() {
    if (IsInPuzzleMethod()) return owner_.mutex.try_lock();
    owner_.mutex.lock();
    return true;
  }

  Owner& owner_;
};

/// PythonNetwork is a TrainedNetwork that several threads may call.
class PythonNetwork {
 public:
  PythonNetwork(const std::filesystem::path& run, const std::string& checkpoint,
                const Settings& settings) {
    const nb::gil_scoped_release release;
    const ModelArgs args{
        .runs = {run.string()}, .checkpoints = {checkpoint}, .overrides = ToOverrides(settings)};
    network_ = std::make_shared<TrainedNetwork>(args);
  }

  const TrainedNetwork& network() const { return *network_; }

  // The domain lives as long as the network that owns it.
  Puzzle domain() const { return {.domain = {network_, &network_->domain()}}; }

  Array<float> Evaluate(nb::handle states) {
    return Values(states, 1, {}, [&](ConstRows inputs, std::span<float> values) {
      network_->Evaluate(inputs, values);
    });
  }

  Array<float> EvaluateActions(nb::handle states) {
    const auto actions = static_cast<std::size_t>(spec().num_actions());
    return Values(states, actions, {actions}, [&](ConstRows inputs, std::span<float> values) {
      network_->EvaluateActions(inputs, values);
    });
  }

  std::vector<Solution> Solve(nb::handle states) {
    const StateBatch batch(states, static_cast<std::size_t>(spec().state_size));
    return SolveInterruptibly(
        network_->domain(), batch.rows(),
        [&](const StopSignal& stop, const Search::Done& done) {
          const NetworkUse use(owner_);
          network_->Solve(batch.rows(), stop, done);
        },
        [&](const SearchResult& result) { return network_->Failure(result); });
  }

 private:
  const DomainSpec& spec() const { return network_->domain().spec(); }

  // Encodes and evaluates as many states at a time as the config says. Each has `width` values.
  template <class Evaluate>
  Array<float> Values(nb::handle states, std::size_t width, const Shape& rest,
                      const Evaluate& evaluate) {
    const StateBatch batch(states, static_cast<std::size_t>(spec().state_size));
    auto result = NewArray<float>(batch.ShapeOf(rest));
    const std::span<float> values(result.data(), batch.size() * width);
    SignalCheck signals;
    const nb::gil_scoped_release release;
    const auto positions = static_cast<std::size_t>(spec().input.positions);
    const std::size_t slice = std::min(
        batch.size(), static_cast<std::size_t>(network_->config().inference.rows_at_once()));
    std::vector<std::uint8_t> bytes(slice * positions);
    for (std::size_t first = 0; first < batch.size() && signals.Continue(); first += slice) {
      const std::size_t count = std::min(slice, batch.size() - first);
      const Rows inputs(bytes.data(), count, positions);
      ForRanges(count, spec().TaskRows(kGrain), [&](std::size_t at, std::size_t size) {
        EncodeChecked(network_->domain(), batch.rows().Slice(first + at, size),
                      inputs.Slice(at, size));
      });
      // Handlers of signals run between slices and while a puzzle in Python encodes, and may use
      // this network.
      const NetworkUse use(owner_);
      evaluate(inputs, values.subspan(first * width, count * width));
    }
    signals.RethrowRaised();
    return result;
  }

  std::shared_ptr<TrainedNetwork> network_;
  NetworkUse::Owner owner_;
};

}  // namespace

void BindNetwork(nb::module_& module) {
  nb::class_<PythonNetwork>(module, "Network")
      .def(nb::init<const std::filesystem::path&, const std::string&, const Settings&>(),
           nb::arg("run"), nb::arg("checkpoint"), nb::arg("settings"))
      .def_prop_ro("domain", &PythonNetwork::domain, "The tandem.Domain that it was trained on.")
      .def_prop_ro(
          "config", [](const PythonNetwork& n) { return n.network().config(); },
          "The tandem.Config of the run, with the settings.")
      .def_prop_ro(
          "iterations", [](const PythonNetwork& n) { return n.network().iterations(); },
          "Training steps that it has had.")
      .def("evaluate", &PythonNetwork::Evaluate, nb::arg("states"),
           nb::sig("def evaluate(self, states: numpy.typing.ArrayLike) -> "
                   "numpy.typing.NDArray[numpy.float32]"),
           "Returns the estimated cost-to-go of each state, float32 of shape (n,).\n\n"
           "Raises ValueError if the network is a policy, which has no estimates.")
      .def(
          "evaluate_actions", &PythonNetwork::EvaluateActions, nb::arg("states"),
          nb::sig("def evaluate_actions(self, states: numpy.typing.ArrayLike) -> "
                  "numpy.typing.NDArray[numpy.float32]"),
          "Returns a value for each action of each state, float32 of shape (n, num_actions). Less "
          "is better.\n\n"
          "For a Q net it is the action's cost plus the estimated cost-to-go of its child, and for "
          "a policy minus the\nlogarithm of its probability. Raises ValueError if the network "
          "only estimates states (head v).")
      .def("solve", &PythonNetwork::Solve, nb::arg("states"),
           nb::sig("def solve(self, states: numpy.typing.ArrayLike) -> list[Solution]"),
           "Searches for a solution of each state, as the keys under `search` say, and returns a "
           "tandem.Solution for each.\n\n"
           "Every solution is replayed to check it. Ctrl-C stops the search and raises "
           "KeyboardInterrupt. Raises ValueError if\nsome row is not a state; see "
           "tandem.Domain.check_states.");
  module.def(
      "write_network",
      [](const std::filesystem::path& weights, const std::string& source, const Config& config,
         const std::filesystem::path& folder) {
        const nb::gil_scoped_release release;
        WriteImportedNetwork(weights, source, config, folder);
      },
      nb::arg("weights"), nb::arg("source"), nb::arg("config"), nb::arg("folder"),
      "Makes a run's folder from the tensors in a safetensors file; `tandem.convert` calls it.");
}

}  // namespace tandem::python
