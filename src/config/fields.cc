#include "config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/device_name.h"

namespace tandem {
namespace {

template <class Value>
ChoiceField Choice(Value& value, std::vector<std::pair<Value, std::string>> choices) {
  ChoiceField field;
  for (const auto& [unused, name] : choices) field.names.push_back(name);
  field.get = [&value, choices] {
    const auto found = std::ranges::find(choices, value, &std::pair<Value, std::string>::first);
    return static_cast<std::size_t>(found - choices.begin());
  };
  field.set = [&value, choices = std::move(choices)](std::size_t index) {
    value = choices[index].first;
  };
  return field;
}

ChoiceField Switch(bool& value) { return Choice(value, {{false, "false"}, {true, "true"}}); }

ChoiceField PrecisionChoice(Precision& value) {
  return Choice(
      value, {{Precision::kAuto, "auto"}, {Precision::kFp32, "fp32"}, {Precision::kBf16, "bf16"}});
}

}  // namespace

std::vector<Field> FieldsOf(TrainConfig& c) {
  std::vector<Field> fields = {
      {"domain.name", "the puzzle; `tandem domains` tells more of them",
       TextField{&c.domain.name, fmt::format("one of {}", fmt::join(DomainNames(), ", "))}},

      {"pipeline.mode",
       "async overlaps generation and training; sequential takes turns; sync_main: the network in "
       "training steers the searches, and rows are labelled when they are trained on",
       Choice(c.pipeline.mode, {{Mode::kAsync, "async"},
                                {Mode::kSequential, "sequential"},
                                {Mode::kSyncMain, "sync_main"}})},
      {"pipeline.overlap",
       "false: async takes turns too, with the same weights, to measure what overlap gains",
       Switch(c.pipeline.overlap)},
      {"pipeline.policy_lag",
       "by how many updates the labelling network may trail; auto: 1 in async, else 0",
       AutoIntField{&c.pipeline.policy_lag, 0, 1}},
      {"pipeline.loss_thresh",
       "the target network is renewed only after an update whose mean loss is at most this; null: "
       "after each",
       NullRealField{&c.pipeline.loss_thresh, 0, 1e9}},

      {"generate.target",
       "walk_length: the cost of the random walk that led to a state; value_iteration: the least "
       "of action cost plus the target network's estimate for the child; "
       "capped_value_iteration: the lesser of both",
       Choice(c.generate.target, {{Target::kWalkLength, "walk_length"},
                                  {Target::kValueIteration, "value_iteration"},
                                  {Target::kCappedValueIteration, "capped_value_iteration"}})},
      {"generate.search",
       "which states become examples; none: the ends of random walks; greedy, astar: those that a "
       "search from there expands",
       Choice(c.generate.search, {{GenerateSearch::kNone, "none"},
                                  {GenerateSearch::kGreedy, "greedy"},
                                  {GenerateSearch::kAStar, "astar"}})},
      {"generate.search_iterations",
       "states in a row that one search expands; one that meets a goal starts anew",
       IntField{&c.generate.search_iterations, 1, 1'000'000}},
      {"generate.search_epsilon",
       "share of a greedy search's steps that are random, so that it does not run in circles",
       RealField{&c.generate.search_epsilon, 0, 1}},
      {"generate.search_weight", "as search.weight, of the A* that makes examples",
       RealField{&c.generate.search_weight, 0, 1000}},
      {"generate.max_scramble", "the longest random walk from the goal, in actions",
       IntField{&c.generate.max_scramble, 1, 100'000}},
      {"generate.workers", "threads that generate; auto: one for each core",
       AutoIntField{&c.generate.workers, 1, 1024}},
      {"generate.chunk_rows", "rows that are generated together, a unit of work",
       IntField{&c.generate.chunk_rows, 1, 1 << 24}},

      {"data.source",
       "live: examples are generated while the run goes on; shards: they come from files that "
       "`tandem generate` made",
       Choice(c.data.source, {{DataSource::kLive, "live"}, {DataSource::kShards, "shards"}})},
      {"data.path", "the folder of the shards", NullTextField{&c.data.path}},
      {"data.live_share",
       "with shards: share of each batch that is generated while the run goes on, as without them",
       RealField{&c.data.live_share, 0, 1}},
      {"data.on_damage",
       "a chunk of a shard that is missing, torn or altered ends the run (stop), or is left out "
       "and counted (skip)",
       Choice(c.data.on_damage, {{OnDamage::kStop, "stop"}, {OnDamage::kSkip, "skip"}})},
      {"data.reading",
       "read: chunks are read into memory; map: they are copied from a map of their file, which "
       "only shards without compression have",
       Choice(c.data.reading, {{ChunkReading::kRead, "read"}, {ChunkReading::kMap, "map"}})},
      {"data.cpu_prefetch", "chunks that wait in the host's memory, read from disk",
       IntField{&c.data.cpu_prefetch, 1, 1024}},
      {"data.gpu_prefetch", "chunks that wait on the device for training",
       IntField{&c.data.gpu_prefetch, 1, 1024}},

      {"replay.updates",
       "earlier updates whose rows are kept: each update trains on as many rows as a buffer has, "
       "drawn from its own and theirs; 0: on its own alone",
       IntField{&c.replay.updates, 0, 10'000}},
      {"replay.map_to",
       "folder on whose disk the rows of earlier updates are kept, in a file that goes with the "
       "run, where memory is too small for them; null: in memory",
       NullTextField{&c.replay.map_to}},

      {"network.head",
       "v: one output, the cost-to-go of the state; q: one for each action, its cost and the "
       "cost-to-go of the child",
       Choice(c.network.head, {{Head::kV, "v"}, {Head::kQ, "q"}})},
      {"network.stem_width", "width of a first layer before the residual ones; 0: none",
       IntField{&c.network.stem_width, 0, 1 << 20}},
      {"network.width", "width of the residual blocks", IntField{&c.network.width, 1, 1 << 20}},
      {"network.blocks", "residual blocks of two linear layers each",
       IntField{&c.network.blocks, 0, 1000}},
      {"network.norm", "normalisation after each hidden linear layer",
       Choice(c.network.norm,
              {{Norm::kNone, "none"}, {Norm::kBatch, "batch"}, {Norm::kLayer, "layer"}})},
      {"network.init_from",
       "run folder or checkpoint whose weights the network begins with; null: random ones",
       NullTextField{&c.network.init_from}},

      {"optimizer.name", "adam (weight decay joins the gradient) or adamw (decoupled)",
       Choice(c.optimizer.name,
              {{OptimizerKind::kAdam, "adam"}, {OptimizerKind::kAdamW, "adamw"}})},
      {"optimizer.learning_rate", "at the first iteration",
       RealField{&c.optimizer.learning_rate, 0, 10}},
      {"optimizer.schedule",
       "constant; linear or cosine: falls to final_learning_rate at the last iteration; "
       "exponential: times decay every iteration",
       Choice(c.optimizer.schedule, {{Schedule::kConstant, "constant"},
                                     {Schedule::kLinear, "linear"},
                                     {Schedule::kCosine, "cosine"},
                                     {Schedule::kExponential, "exponential"}})},
      {"optimizer.final_learning_rate", "where the linear and cosine schedules end",
       RealField{&c.optimizer.final_learning_rate, 0, 10}},
      {"optimizer.decay", "factor per iteration of the exponential schedule",
       RealField{&c.optimizer.decay, 0, 1}},
      {"optimizer.warmup_iterations",
       "iterations in which the rate rises evenly to where the schedule is",
       IntField{&c.optimizer.warmup_iterations, 0, kMany}},
      {"optimizer.max_grad_norm",
       "a longer gradient, over all weights, is cut to this length; 0: never",
       RealField{&c.optimizer.max_grad_norm, 0, 1e9}},
      {"optimizer.weight_decay", "pull of the weights towards zero",
       RealField{&c.optimizer.weight_decay, 0, 10}},
      {"optimizer.beta1", "decay of the mean gradient", RealField{&c.optimizer.beta1, 0, 0.999999}},
      {"optimizer.beta2", "decay of the mean squared gradient",
       RealField{&c.optimizer.beta2, 0, 0.999999}},
      {"optimizer.epsilon", "keeps the step finite where gradients vanish",
       RealField{&c.optimizer.epsilon, 1e-30, 1}},

      {"train.batch_size", "examples in one iteration",
       IntField{&c.train.batch_size, 1, kMostBatchSize}},
      {"train.batch_doubles_every", "updates until batch_size doubles, again and again; 0: never",
       IntField{&c.train.batch_doubles_every, 0, kMany}},
      {"train.iterations_per_update", "batches in one buffer",
       IntField{&c.train.iterations_per_update, 1, 100'000'000}},
      {"train.max_updates",
       "buffers to train on; auto: as many as fit into max_seconds, measured before update 0 and "
       "while the run goes on; buffers are made shorter where too few would fit",
       AutoIntField{&c.train.max_updates, 1, kMany}},
      {"train.plan",
       "written by runs with max_updates: auto, which the learning rate followed: `0:180 12:150` "
       "means that 180 updates were planned at first, and 150 from update 12 on; null: no revision",
       NullTextField{&c.train.plan}},
      {"train.max_seconds", "end the run after this wall time; 0: no limit",
       RealField{&c.train.max_seconds, 0, 1e9}},
      {"train.loss", "squared error, or huber: linear where the error is over huber_delta",
       Choice(c.train.loss, {{Loss::kSquared, "squared"}, {Loss::kHuber, "huber"}})},
      {"train.huber_delta", "where the Huber loss becomes linear, in units of cost",
       RealField{&c.train.huber_delta, 1e-6, 1e6}},
      {"train.accumulation_steps",
       "equal parts that a batch goes through the network in, to save memory; gradients add up",
       IntField{&c.train.accumulation_steps, 1, 1 << 20}},
      {"train.threads", "CPU threads of a training step; auto: one for each core",
       AutoIntField{&c.train.threads, 1, 1024}},
      {"train.precision", "of matrix products in training; auto: bf16 where it is fast",
       PrecisionChoice(c.train.precision)},

      {"prefetch.enabled",
       "false: batches are gathered and copied between training steps, by the main thread",
       Switch(c.prefetch.enabled)},
      {"prefetch.depth", "batches made ready ahead of training",
       IntField{&c.prefetch.depth, 1, 64}},
      {"prefetch.pin_memory",
       "false: batches are copied to a GPU from memory that it cannot read itself",
       Switch(c.prefetch.pin_memory)},
      {"prefetch.copy_stream", "false: copies wait for the computation before them on the GPU",
       Switch(c.prefetch.copy_stream)},

      {"inference.batch_size", "states that the network evaluates at once",
       IntField{&c.inference.batch_size, 1, 1 << 24}},
      {"inference.threads", "CPU threads of an evaluation; auto: as train.threads",
       AutoIntField{&c.inference.threads, 1, 1024}},
      {"inference.precision", "of the evaluating copy of the network; auto: bf16 where it is fast",
       PrecisionChoice(c.inference.precision)},

      {"search.method", "beam, or astar: batched weighted A*",
       Choice(c.search.method, {{SearchMethod::kBeam, "beam"}, {SearchMethod::kAStar, "astar"}})},
      {"search.beam_width", "states that beam search keeps at each depth",
       IntField{&c.search.beam_width, 1, 1 << 28}},
      {"search.max_length", "longest solution that beam search looks for, in actions",
       IntField{&c.search.max_length, 1, 100'000}},
      {"search.weight",
       "of a path's cost beside the estimate of the rest, in A*; 1: least cost if estimates are "
       "never too high; less: fewer nodes and longer solutions; 0: greedy",
       RealField{&c.search.weight, 0, 1000}},
      {"search.batch",
       "most states of one puzzle that A* expands at a time; it begins with 1 and grows to a tenth "
       "of the states expanded",
       IntField{&c.search.batch, 1, 1 << 24}},
      {"search.instances", "puzzles that A* solves at a time",
       IntField{&c.search.instances, 1, 1 << 20}},
      {"search.max_nodes", "different states that A* stores for one puzzle; 0: no limit",
       IntField{&c.search.max_nodes, 0, std::int64_t{1} << 31}},
      {"search.max_seconds", "end the search for one puzzle after this time; 0: no limit",
       RealField{&c.search.max_seconds, 0, 1e9}},

      {"validation.every_updates", "updates between validations, and one at the end; 0: none",
       IntField{&c.validation.every_updates, 0, kMany}},
      {"validation.states", "how many states to validate on, at most",
       IntField{&c.validation.states, 1, 1 << 20}},
      {"validation.file",
       "their file, as `tandem solve` reads it, each with its `optimal`; null: fixed scrambles of "
       "all "
       "lengths up to max_scramble",
       NullTextField{&c.validation.file}},
      {"validation.best_by",
       "what makes a checkpoint the best: the highest solve_rate of greedy descent, or the lowest "
       "value_error against the scrambles' lengths",
       Choice(c.validation.best_by,
              {{Measure::kSolveRate, "solve_rate"}, {Measure::kValueError, "value_error"}})},
      {"validation.batch_size", "states that are estimated at once",
       IntField{&c.validation.batch_size, 1, 1 << 20}},
      {"validation.prefetch", "as prefetch.enabled, of the states to validate on",
       Switch(c.validation.prefetch.enabled)},
      {"validation.prefetch_depth", "as prefetch.depth",
       IntField{&c.validation.prefetch.depth, 1, 64}},
      {"validation.pin_memory", "as prefetch.pin_memory", Switch(c.validation.prefetch.pin_memory)},
      {"validation.copy_stream", "as prefetch.copy_stream",
       Switch(c.validation.prefetch.copy_stream)},
      {"validation.metrics",
       "where errors are summed up: cpu copies every estimate, device only sums",
       Choice(c.validation.metrics,
              {{MetricsPlace::kCpu, "cpu"}, {MetricsPlace::kDevice, "device"}})},
      {"validation.log", "true: a line for each validation", Switch(c.validation.log)},

      {"checkpoint.every_updates",
       "updates between checkpoints; the start and the end always write one",
       IntField{&c.checkpoint.every_updates, 1, kMany}},
      {"checkpoint.every_seconds",
       "seconds of work that a kill may cost at most: an update after which the next one might "
       "exceed this also writes a checkpoint; 0: no limit",
       RealField{&c.checkpoint.every_seconds, 0, 1e9}},

      {"memory.allocated_limit_gib",
       "a run that would allocate more memory of the host than this is refused before it does; "
       "what "
       "LibTorch takes for itself, some 200 MiB, is not counted; 0: no limit",
       RealField{&c.memory.allocated_limit_gib, 0, 1e9}},
      {"memory.mapped_limit_gib", "the same, of files mapped into memory",
       RealField{&c.memory.mapped_limit_gib, 0, 1e9}},
      {"memory.pinned_limit_gib",
       "the same, of the memory allocated that is pinned for copies to a GPU",
       RealField{&c.memory.pinned_limit_gib, 0, 1e9}},

      {"profile.timing_breakdown",
       "true: measure each phase of an iteration by itself: the device is waited for after each, "
       "and "
       "nothing overlaps, so the run is slower; the weights stay the same",
       Switch(c.profile.timing_breakdown)},
      {"profile.timing_every",
       "with timing_breakdown: iterations between two reports, after those of the first ten",
       IntField{&c.profile.timing_every, 1, kMany}},
      {"profile.trace",
       "true: write trace.json, what each thread and each stream of a GPU did and when, for "
       "ui.perfetto.dev or chrome://tracing",
       Switch(c.profile.trace)},
      {"profile.trace_from", "the first update that is traced",
       IntField{&c.profile.trace_from, 0, kMany}},
      {"profile.trace_updates", "how many updates are traced",
       IntField{&c.profile.trace_updates, 1, kMany}},
      {"profile.trace_epochs",
       "with data.source shards: the trace goes on until so many epochs are done, if that is later",
       IntField{&c.profile.trace_epochs, 0, kMany}},

      {"device", "what trains and evaluates; auto: the first GPU, or the CPU where there is none",
       TextField{&c.device, "auto, cpu, cuda or cuda:N", &IsDeviceName}},
      {"seed", "of every random number of the run", IntField{&c.seed, 0, INT64_MAX}},
  };
  if (const DomainParameter* parameter = ParameterOf(c.domain.name); parameter != nullptr) {
    fields.insert(fields.begin() + 1,
                  {"domain." + parameter->key, parameter->meaning,
                   ArgumentField{&c.domain.argument, c.domain.name, *parameter}});
  }
  return fields;
}

}  // namespace tandem
