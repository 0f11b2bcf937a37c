// Training examples for a loop in Python.
#include "data/examples.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "base/stop_signal.h"
#include "base/stopwatch.h"
#include "base/worker.h"
#include "bindings.h"
#include "config/config.h"
#include "config/fields.h"
#include "data/data_buffer.h"
#include "data/row_order.h"
#include "domain.h"
#include "generate/generator.h"
#include "interrupt.h"
#include "python_evaluator.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem::python {
namespace {

// An array that a batch is gathered into: a column of its rows.
using ColumnArray = nb::ndarray<nb::c_contig, nb::device::cpu, nb::ndim<2>>;

// Throws InputError if a loop in Python cannot do what the config asks for.
void CheckFitsLoop(const Config& config) {
  const auto refuse = [](bool found, const char* key, const char* why) {
    if (found) throw InputError(fmt::format("{}: tandem.Examples {}", key, why));
  };
  refuse(config.pipeline.mode == Mode::kSyncMain, "pipeline.mode",
         "cannot label rows while the loop trains on them; expected async or sequential");
  refuse(config.replay.updates > 0, "replay.updates", "keeps no earlier rows; expected 0");
  refuse(config.data.source != DataSource::kLive, "data.source",
         "generates all rows; expected live. tandem.read_shards reads shards");
  refuse(config.generate.program != Program::kDomain, "generate.program",
         "generates on the CPU; expected domain");
  refuse(config.pipeline.loss_thresh.has_value(), "pipeline.loss_thresh",
         "knows no losses; expected null. pipeline.refresh_every works");
  refuse(TakesAction(config.network.head), "network.head",
         "pairs no states with actions; expected v, q, policy or vp");
}

// Returns the config with numbers in place of `auto`. The processes of a machine share its cores.
Config Resolved(Config config, std::int64_t processes) {
  const std::int64_t cores = std::min(NumCores(), kMostThreads);
  if (!config.generate.workers) {
    config.generate.workers = std::max<std::int64_t>(cores / processes, 1);
  }
  return config;
}

// Set while the thread fills a buffer.
thread_local bool filling = false;

/// Filling fills two buffers in turn on a thread of its own, and gathers batches from them on
/// another.
class Filling {
 public:
  Filling(Config config, std::shared_ptr<nb::object> evaluate, std::int64_t rank,
          std::int64_t longest_scramble, const StopSignal& stop)
      : config_(std::move(config)),
        rank_(rank),
        stop_(&stop),
        domain_(MakeDomain(config_.domain.full_name())),
        evaluate_(std::move(evaluate)),
        evaluator_(*evaluate_, domain_->spec(), config_.network.head,
                   config_.inference.rows_at_once(), stop_),
        generator_(MakeGenerator(*domain_, config_, &evaluator_)),
        buffers_{MakeBuffer(), MakeBuffer()},
        curriculum_(config_.generate, longest_scramble) {}

  ~Filling() { stop_.Request(); }
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;

  const Schema& schema() const { return generator_->schema(); }

  // The length that scrambles had reached when the buffer of `update` was filled, or will have.
  std::int64_t longest_scramble(std::int64_t update) const {
    return update == filled_ ? reached_before_ : curriculum_.reached();
  }

  // Starts to fill the buffer of an update, unless that has begun.
  void Start(std::int64_t update) {
    if (update <= started_) return;
    fill_ = filler_.Post([this, update, longest = curriculum_.longest_scramble()] {
      filling = true;
      Fill(update, longest);
    });
    started_ = update;
  }

  // Waits until the buffer of an update that was started is full, but only this long. Returns
  // whether it is. Throws what the fill threw.
  bool Await(std::int64_t update, std::chrono::milliseconds time) {
    if (update <= filled_) return true;
    if (fill_.wait_for(time) != std::future_status::ready) return false;
    fill_.get();
    seconds_ = fill_seconds_;
    reached_before_ = curriculum_.reached();
    curriculum_.FillEnds(generator_->searches_solved());
    filled_ = update;
    return true;
  }

  // How long the fills took that have ended.
  double seconds() const { return seconds_; }

  // Starts to gather a batch of the rows of an update, whose buffer is full.
  std::future<void> Gather(std::int64_t update, std::int64_t batch,
                           std::vector<std::byte*> columns) {
    return gatherer_.Post([this, update, batch, columns = std::move(columns)] {
      const DataBuffer& rows = buffers_.at(static_cast<std::size_t>(update % 2));
      if (order_of_ != update) {
        order_.emplace(rows.rows(), config_.random_seed(), update, rank_);
        order_of_ = update;
      }
      const auto size = static_cast<std::size_t>(config_.train.batch_size);
      const auto picked = order_->Rows(static_cast<std::size_t>(batch) * size, size);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        auto* const to = reinterpret_cast<std::uint8_t*>(columns[i]);
        CopyRows(rows.column(i), picked, {to, picked.size(), rows.column(i).row_size()});
      }
    });
  }

 private:
  DataBuffer MakeBuffer() const {
    return WithMemoryAdvice(kToSpareBuffers, [this] {
      return generator_->MakeBuffer(static_cast<std::size_t>(config_.rows_per_update()));
    });
  }

  void Fill(std::int64_t update, std::optional<std::int64_t> longest_scramble) {
    const ScopedTimer timer(fill_seconds_);
    DataBuffer& rows = buffers_.at(static_cast<std::size_t>(update % 2));
    generator_->Fill({.update = update,
                      .first_row = rank_ * config_.rows_per_update(),
                      .rows = config_.rows_per_update(),
                      .longest_scramble = longest_scramble},
                     rows, stop_);
    CheckTargets(rows, fmt::format("the rows of update {}", update));
  }

  const Config config_;
  const std::int64_t rank_;
  StopSignal stop_;
  const std::unique_ptr<const Domain> domain_;
  const std::shared_ptr<nb::object> evaluate_;
  PythonEvaluator evaluator_;
  const std::unique_ptr<Generator> generator_;
  std::array<DataBuffer, 2> buffers_;  // that of an update is at [update % 2]
  Curriculum curriculum_;
  std::int64_t reached_before_ = 0;
  std::int64_t started_ = -1;  // the last update whose fill was started
  std::int64_t filled_ = -1;   // the last update whose fill has ended
  std::future<void> fill_;     // that of `started_`
  double seconds_ = 0;
  double fill_seconds_ = 0;        // used by the thread that fills, and when `fill_` is ready
  std::optional<RowOrder> order_;  // this and the next: used by the thread that gathers
  std::int64_t order_of_ = -1;     // the update
  // Last, so that the threads end before the members that they use.
  Worker filler_{"generator"};
  Worker gatherer_{"prefetch"};
};

[[noreturn]] void ThrowClosed() {
  throw Error(
      "the examples are closed. Make new ones; load_state_dict() continues where these were.");
}

/// GatheredBatch is a batch that a thread gathers into arrays.
class GatheredBatch {
 public:
  GatheredBatch(std::future<void> done, std::vector<ColumnArray> columns)
      : done_(std::move(done)), columns_(std::move(columns)) {}
  ~GatheredBatch() {
    const nb::gil_scoped_release release;
    if (done_.valid()) done_.wait();
  }
  GatheredBatch(GatheredBatch&&) = default;
  GatheredBatch(const GatheredBatch&) = delete;
  GatheredBatch& operator=(const GatheredBatch&) = delete;
  GatheredBatch& operator=(GatheredBatch&&) = delete;

  // If another thread closes the loop, it drops batches that are not gathered yet.
  void Wait() {
    const nb::gil_scoped_release release;
    if (!done_.valid()) return;
    try {
      done_.get();
    } catch (const std::future_error&) {
      ThrowClosed();
    }
  }

 private:
  std::future<void> done_;
  std::vector<ColumnArray> columns_;
};

/// ExampleSource is what tandem.Examples is made of. Work is done without the GIL, also when
/// threads are joined, because the threads that fill take it.
class ExampleSource {
 public:
  ExampleSource(const Config& config, const nb::object& evaluate, std::int64_t rank,
                std::int64_t processes, std::int64_t longest_scramble)
      : batch_size_(static_cast<std::size_t>(config.train.batch_size)) {
    CheckFitsLoop(config);
    if (NeedsNetwork(config.generate.target) && evaluate.is_none()) {
      throw InputError(
          fmt::format("network: `generate.target: {}` labels rows with a network, "
                      "expected a torch.nn.Module",
                      NameOf(kTargets, config.generate.target)));
    }
    const std::shared_ptr<nb::object> owned(new nb::object(evaluate), [](const nb::object* object) {
      const nb::gil_scoped_acquire gil;
      delete object;
    });
    const nb::gil_scoped_release release;
    filling_ = std::make_unique<Filling>(Resolved(config, processes), owned, rank, longest_scramble,
                                         *stop_);
  }
  ~ExampleSource() { Close(); }
  ExampleSource(const ExampleSource&) = delete;
  ExampleSource& operator=(const ExampleSource&) = delete;

  // The columns of a row: the type and the number of its elements.
  std::vector<std::pair<std::string, std::size_t>> Columns() {
    return Use([](Filling& work) {
      std::vector<std::pair<std::string, std::size_t>> columns;
      for (const Column& column : work.schema().columns) {
        columns.emplace_back(NameOf(column.type), column.width);
      }
      return columns;
    });
  }

  std::int64_t LongestScramble(std::int64_t update) {
    return Use([update](const Filling& work) { return work.longest_scramble(update); });
  }

  void Start(std::int64_t update) {
    Use([update](Filling& work) { work.Start(update); });
  }

  // Waits for the fill of `update`, which was started. Returns how long all fills took. Ctrl-C ends
  // the wait, and not the fill. Handlers of signals run between two polls, and may close the loop.
  double Wait(std::int64_t update) {
    SignalCheck signals;
    std::optional<double> seconds;
    while (!seconds && signals.Continue()) {
      seconds = Use([&](Filling& work) { return Poll(work, update); });
    }
    signals.RethrowRaised();
    return seconds.value();
  }

  GatheredBatch Gather(std::int64_t update, std::int64_t batch, std::vector<ColumnArray> columns) {
    std::vector<std::byte*> memory;
    memory.reserve(columns.size());
    for (const ColumnArray& column : columns) {
      memory.push_back(static_cast<std::byte*>(column.data()));
    }
    std::future<void> done = Use([&](Filling& work) {
      for (std::size_t i = 0; i < work.schema().columns.size(); ++i) {
        const std::size_t bytes = batch_size_ * work.schema().columns[i].row_bytes();
        if (i >= columns.size() || columns[i].nbytes() != bytes) {
          throw InputError(fmt::format("column {}: expected an array of {} bytes", i, bytes));
        }
      }
      return work.Gather(update, batch, std::move(memory));
    });
    return {std::move(done), std::move(columns)};
  }

  // Ends the threads. Python may collect garbage in any thread, even in one that fills a buffer and
  // cannot wait for itself; another thread waits then.
  void Close() {
    stop_->Request();
    const nb::gil_scoped_release release;
    const std::lock_guard lock(use_);
    if (filling || IsInPuzzleMethod()) {
      std::thread([stop = stop_, work = std::move(filling_)]() mutable { work.reset(); }).detach();
    }
    filling_.reset();
  }

  bool closed() const { return stop_->requested(); }

 private:
  // Calls `use` without the GIL, while no other thread uses the object.
  template <class Function>
  std::invoke_result_t<const Function&, Filling&> Use(const Function& use) {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(use_);
    if (filling_ == nullptr || stop_->requested()) ThrowClosed();
    return use(*filling_);
  }

  // Waits a moment for the fill of `update`. Returns how long all fills took once it has ended.
  std::optional<double> Poll(Filling& work, std::int64_t update) {
    try {
      if (!work.Await(update, std::chrono::milliseconds(50))) return std::nullopt;
      return work.seconds();
    } catch (const Stopped&) {  // by Close
      ThrowClosed();
    } catch (...) {
      stop_->Request();
      filling_.reset();
      throw;
    }
  }

  const std::size_t batch_size_;
  const std::shared_ptr<StopSignal> stop_ = std::make_shared<StopSignal>();  // outlives filling_
  std::mutex use_;
  std::unique_ptr<Filling> filling_;  // guarded by use_; null once closed
};

}  // namespace

void BindExamples(nb::module_& module) {
  module.def(
      "needs_network", [](const Config& config) { return NeedsNetwork(config.generate.target); },
      nb::arg("config"), "Whether a network labels the rows of the config's target.");
  nb::class_<GatheredBatch>(module, "GatheredBatch")
      .def("wait", &GatheredBatch::Wait, "Waits until the batch is in its arrays.");
  nb::class_<ExampleSource>(module, "ExampleSource", "The buffers and threads of tandem.Examples.")
      .def(nb::init<const Config&, const nb::object&, std::int64_t, std::int64_t, std::int64_t>(),
           nb::arg("config"), nb::arg("evaluate").none(), nb::arg("rank"), nb::arg("processes"),
           nb::arg("longest_scramble"))
      .def_prop_ro("columns", &ExampleSource::Columns,
                   "The columns of a row: the type and the number of its elements.")
      .def("longest_scramble", &ExampleSource::LongestScramble, nb::arg("update"),
           "The length that the scrambles of the curriculum have at an update.")
      .def("start", &ExampleSource::Start, nb::arg("update"),
           "Starts to fill the buffer of an update, unless that has begun.")
      .def("wait", &ExampleSource::Wait, nb::arg("update"),
           "Waits for a fill that was started, and returns how long all fills took.")
      .def("gather", &ExampleSource::Gather, nb::arg("update"), nb::arg("batch"),
           nb::arg("columns"),
           nb::sig("def gather(self, update: int, batch: int, columns: list[numpy.ndarray]) -> "
                   "GatheredBatch"),
           "Starts to gather a batch into arrays.")
      .def("close", &ExampleSource::Close, "Ends the threads.")
      .def_prop_ro("closed", &ExampleSource::closed, "Whether `close` was called.");
}

}  // namespace tandem::python
