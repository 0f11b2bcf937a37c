#include "config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace tandem {
namespace {

constexpr std::int64_t kMany = 1'000'000'000'000;  // more than anyone can mean

template <class Enum>
ChoiceField Choice(Enum& value, std::vector<std::string> names) {
  return {.names = std::move(names),
          .get = [&value] { return static_cast<std::size_t>(value); },
          .set = [&value](std::size_t index) { value = static_cast<Enum>(index); }};
}

// All of `text` as a number, or nothing.
template <class Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::string IntRange(std::int64_t least, std::int64_t most) {
  if (most == kMany) return fmt::format("a whole number of at least {}", least);
  return fmt::format("a whole number from {} to {}", least, WithThousands(most));
}

}  // namespace

std::vector<Field> FieldsOf(TrainConfig& c) {
  const std::vector<std::string> precisions = {"auto", "fp32", "bf16"};
  std::vector<Field> fields = {
      {"domain.name", "the puzzle; `tandem domains` lists them", TextField{&c.domain.name}},

      {"pipeline.mode", "async overlaps generation and training; sequential takes turns",
       Choice(c.pipeline.mode, {"async", "sequential"})},
      {"pipeline.policy_lag",
       "by how many updates the labelling network may trail; auto: 1 in async, 0 in sequential",
       AutoIntField{&c.pipeline.policy_lag, 0, 1}},

      {"generate.target",
       "walk_length: the cost of the random walk that led to a state; value_iteration: the least "
       "of action cost plus the target network's estimate for the child",
       Choice(c.generate.target, {"walk_length", "value_iteration"})},
      {"generate.max_scramble", "the longest random walk from the goal, in actions",
       IntField{&c.generate.max_scramble, 1, 100'000}},
      {"generate.workers", "threads that generate; auto: one for each core",
       AutoIntField{&c.generate.workers, 1, 1024}},
      {"generate.chunk_rows", "rows that are generated together, a unit of work",
       IntField{&c.generate.chunk_rows, 1, 1 << 24}},

      {"network.head",
       "v: one output, the cost-to-go of the state; q: one for each action, its cost and the "
       "cost-to-go of the child",
       Choice(c.network.head, {"v", "q"})},
      {"network.stem_width", "width of a first layer before the residual ones; 0: none",
       IntField{&c.network.stem_width, 0, 1 << 20}},
      {"network.width", "width of the residual blocks", IntField{&c.network.width, 1, 1 << 20}},
      {"network.blocks", "residual blocks of two linear layers each",
       IntField{&c.network.blocks, 0, 1000}},
      {"network.norm", "normalisation after each hidden linear layer",
       Choice(c.network.norm, {"none", "batch", "layer"})},

      {"optimizer.name", "adam (weight decay joins the gradient) or adamw (decoupled)",
       Choice(c.optimizer.name, {"adam", "adamw"})},
      {"optimizer.learning_rate", "at the first iteration",
       RealField{&c.optimizer.learning_rate, 0, 10}},
      {"optimizer.schedule",
       "constant; linear: to final_learning_rate at the last iteration; exponential: times decay "
       "every iteration",
       Choice(c.optimizer.schedule, {"constant", "linear", "exponential"})},
      {"optimizer.final_learning_rate", "where the linear schedule ends",
       RealField{&c.optimizer.final_learning_rate, 0, 10}},
      {"optimizer.decay", "factor per iteration of the exponential schedule",
       RealField{&c.optimizer.decay, 0, 1}},
      {"optimizer.weight_decay", "pull of the weights towards zero",
       RealField{&c.optimizer.weight_decay, 0, 10}},
      {"optimizer.beta1", "decay of the mean gradient", RealField{&c.optimizer.beta1, 0, 0.999999}},
      {"optimizer.beta2", "decay of the mean squared gradient",
       RealField{&c.optimizer.beta2, 0, 0.999999}},
      {"optimizer.epsilon", "keeps the step finite where gradients vanish",
       RealField{&c.optimizer.epsilon, 1e-30, 1}},

      {"train.batch_size", "examples in one iteration", IntField{&c.train.batch_size, 1, 1 << 24}},
      {"train.iterations_per_update", "batches in one buffer",
       IntField{&c.train.iterations_per_update, 1, 100'000'000}},
      {"train.max_updates",
       "buffers to train on; auto: as many as fit into max_seconds, measured before update 0",
       AutoIntField{&c.train.max_updates, 1, kMany}},
      {"train.max_seconds", "end the run after this wall time; 0: no limit",
       RealField{&c.train.max_seconds, 0, 1e9}},
      {"train.threads", "CPU threads of a training step; auto: one for each core",
       AutoIntField{&c.train.threads, 1, 1024}},
      {"train.precision", "of matrix products in training; auto: bf16 where it is fast",
       Choice(c.train.precision, precisions)},

      {"prefetch.depth", "batches made ready ahead of training",
       IntField{&c.prefetch.depth, 1, 64}},

      {"evaluate.batch_rows", "states that the network evaluates at once",
       IntField{&c.evaluate.batch_rows, 1, 1 << 24}},
      {"evaluate.threads", "CPU threads of an evaluation; auto: as train.threads",
       AutoIntField{&c.evaluate.threads, 1, 1024}},
      {"evaluate.precision", "of the evaluating copy of the network; auto: bf16 where it is fast",
       Choice(c.evaluate.precision, precisions)},

      {"search.method", "beam, or astar: batched weighted A*",
       Choice(c.search.method, {"beam", "astar"})},
      {"search.beam_width", "states that beam search keeps at each depth",
       IntField{&c.search.beam_width, 1, 1 << 28}},
      {"search.max_length", "longest solution that beam search looks for, in actions",
       IntField{&c.search.max_length, 1, 100'000}},
      {"search.weight",
       "of a path's cost beside the estimate of the rest, in A*; 1: least cost if estimates are "
       "never too high; less: fewer nodes and longer solutions; 0: greedy",
       RealField{&c.search.weight, 0, 1000}},
      {"search.batch", "states of one puzzle that A* expands at a time",
       IntField{&c.search.batch, 1, 1 << 24}},
      {"search.instances", "puzzles that A* solves at a time",
       IntField{&c.search.instances, 1, 1 << 20}},
      {"search.max_nodes", "different states that A* stores for one puzzle; 0: no limit",
       IntField{&c.search.max_nodes, 0, std::int64_t{1} << 31}},
      {"search.max_seconds", "end the search for one puzzle after this time; 0: no limit",
       RealField{&c.search.max_seconds, 0, 1e9}},

      {"checkpoint.every_updates", "updates between checkpoints; the end always writes one",
       IntField{&c.checkpoint.every_updates, 1, kMany}},

      {"device", "auto, cpu, cuda or cuda:N", TextField{&c.device}},
      {"seed", "of every random number of the run", IntField{&c.seed, 0, INT64_MAX}},
  };
  if (const DomainParameter* parameter = ParameterOf(c.domain.name); parameter != nullptr) {
    fields.insert(fields.begin() + 1,
                  {"domain." + parameter->key, parameter->meaning,
                   ArgumentField{&c.domain.argument, c.domain.name, *parameter}});
  }
  return fields;
}

std::string Expected(const Field& field) {
  return std::visit(
      Overloaded{
          [](const IntField& f) { return IntRange(f.least, f.most); },
          [](const AutoIntField& f) { return IntRange(f.least, f.most) + ", or auto"; },
          [](const RealField& f) {
            return fmt::format("a number from {:g} to {:g}", f.least, f.most);
          },
          [](const TextField&) { return std::string("a word"); },
          [](const ArgumentField& f) { return f.parameter.expected; },
          [](const ChoiceField& f) { return fmt::format("one of {}", fmt::join(f.names, ", ")); },
      },
      field.value);
}

bool SetField(const Field& field, std::string_view text) {
  const auto set_int = [&](auto& f) {
    const auto number = ParseNumber<std::int64_t>(text);
    if (!number || *number < f.least || *number > f.most) return false;
    *f.value = *number;
    return true;
  };
  return std::visit(Overloaded{
                        [&](const IntField& f) { return set_int(f); },
                        [&](const AutoIntField& f) {
                          if (text != "auto") return set_int(f);
                          f.value->reset();
                          return true;
                        },
                        [&](const RealField& f) {
                          const auto number = ParseNumber<double>(text);
                          if (!number || !(*number >= f.least && *number <= f.most)) return false;
                          *f.value = *number;
                          return true;
                        },
                        [&](const TextField& f) {
                          if (text.empty()) return false;
                          *f.value = text;
                          return true;
                        },
                        [&](const ArgumentField& f) {
                          if (!AcceptsArgument(f.domain, std::string(text))) return false;
                          *f.value = text;
                          return true;
                        },
                        [&](const ChoiceField& f) {
                          const auto found = std::ranges::find(f.names, text);
                          if (found == f.names.end()) return false;
                          f.set(static_cast<std::size_t>(found - f.names.begin()));
                          return true;
                        },
                    },
                    field.value);
}

std::string FieldText(const Field& field) {
  return std::visit(Overloaded{
                        [](const IntField& f) { return fmt::format("{}", *f.value); },
                        [](const AutoIntField& f) {
                          return f.value->has_value() ? fmt::format("{}", **f.value)
                                                      : std::string("auto");
                        },
                        [](const RealField& f) { return fmt::format("{}", *f.value); },
                        [](const TextField& f) { return *f.value; },
                        [](const ArgumentField& f) {
                          return f.value->empty() ? f.parameter.default_value : *f.value;
                        },
                        [](const ChoiceField& f) { return f.names[f.get()]; },
                    },
                    field.value);
}

std::string ValueText(const TrainConfig& config, std::string_view key) {
  TrainConfig copy = config;
  const std::vector<Field> fields = FieldsOf(copy);
  return FieldText(*std::ranges::find(fields, key, &Field::key));
}

}  // namespace tandem
