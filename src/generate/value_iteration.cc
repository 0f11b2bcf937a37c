#include "generate/value_iteration.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "base/random.h"
#include "generate/random_walk.h"

namespace tandem {
namespace {

constexpr std::size_t kGrain = 64;  // states that one task takes

}  // namespace

ValueIterationGenerator::ValueIterationGenerator(const Domain& domain, Evaluator& target_network,
                                                 ValueIterationOptions options)
    : domain_(domain),
      target_network_(target_network),
      options_(options),
      arena_(options.workers) {}

void ValueIterationGenerator::Fill(const FillRequest& request, DataBuffer& out,
                                   const StopSignal& stop) {
  const Chunks chunks(request.rows, options_.chunk_rows);
  tbb::task_group expansion;
  const auto start_expanding = [&](std::int64_t i) {
    if (i >= chunks.size()) return;
    SanitizerRelease(&expansion);
    arena_.execute([&, i] {
      expansion.run([&, i] {
        SanitizerAcquire(&expansion);
        Expand(request, chunks[i], out, expanded_[i % 2]);
        SanitizerRelease(&expansion);
      });
    });
  };
  const auto finish_expanding = [&] {
    arena_.execute([&] { expansion.wait(); });
    SanitizerAcquire(&expansion);
  };

  start_expanding(0);
  for (std::int64_t i = 0; i < chunks.size(); ++i) {
    finish_expanding();
    if (stop.Reached()) throw Stopped();
    start_expanding(i + 1);
    Expanded& expanded = expanded_[i % 2];
    try {
      Evaluate(expanded);
    } catch (...) {
      finish_expanding();  // it writes into what this frame refers to
      throw;
    }
    BackUp(expanded, chunks[i], out);
  }
}

void ValueIterationGenerator::Expand(const FillRequest& request, Chunk chunk, DataBuffer& out,
                                     Expanded& into) const {
  const DomainSpec& spec = domain_.spec();
  const auto rows = static_cast<std::size_t>(chunk.rows);
  const std::size_t children = rows * spec.num_actions();
  into.states.resize(rows * spec.state_size);
  into.is_goal.resize(rows);
  into.walk_costs.resize(rows);
  into.children.resize(children * spec.state_size);
  into.child_inputs.resize(children * spec.input.positions);
  into.child_is_goal.resize(children);
  into.child_values.resize(children);
  ForRanges(rows, kGrain, [&](std::size_t first, std::size_t count) {
    ScrambleAndExpand(request, chunk, out, into, first, count);
  });
}

void ValueIterationGenerator::ScrambleAndExpand(const FillRequest& request, Chunk chunk,
                                                DataBuffer& out, Expanded& into, std::size_t first,
                                                std::size_t count) const {
  const DomainSpec& spec = domain_.spec();
  const std::size_t num_actions = spec.num_actions();
  const std::size_t state_size = spec.state_size;
  const std::size_t input_size = spec.input.positions;

  const Rows states = Rows(into.states.data(), chunk.rows, state_size).Slice(first, count);
  const auto row_in_fill = static_cast<std::size_t>(chunk.first) + first;
  for (std::size_t i = 0; i < count; ++i) {
    Random random(options_.seed, Purpose::kScramble, static_cast<std::uint64_t>(request.update),
                  static_cast<std::uint64_t>(request.first_row) + row_in_fill + i);
    const std::uint64_t length =
        random.Below(static_cast<std::uint64_t>(options_.max_scramble) + 1);
    RandomWalk walk(domain_, random, states[i]);
    for (std::uint64_t step = 0; step < length; ++step) walk.Step();
    into.walk_costs[first + i] = static_cast<float>(length) * spec.action_cost;
  }
  domain_.IsGoal(states, std::span(into.is_goal).subspan(first, count));
  domain_.Encode(states, out.column(kInputColumn).Slice(row_in_fill, count));

  const std::size_t first_child = first * num_actions;
  const std::size_t num_children = count * num_actions;
  const std::size_t all_children = chunk.rows * num_actions;
  const Rows children =
      Rows(into.children.data(), all_children, state_size).Slice(first_child, num_children);
  domain_.Expand(states, children);
  domain_.IsGoal(children, std::span(into.child_is_goal).subspan(first_child, num_children));
  domain_.Encode(
      children,
      Rows(into.child_inputs.data(), all_children, input_size).Slice(first_child, num_children));
}

void ValueIterationGenerator::Evaluate(Expanded& chunk) const {
  const auto input_size = static_cast<std::size_t>(domain_.spec().input.positions);
  target_network_.Evaluate(
      ConstRows(chunk.child_inputs.data(), chunk.child_values.size(), input_size),
      chunk.child_values);
}

void ValueIterationGenerator::BackUp(const Expanded& expanded, Chunk chunk, DataBuffer& out) const {
  // A child by an action that does not apply is a copy of its parent. It is backed up like the
  // others: staying costs, so it is never the best under the true cost-to-go, which is thus still
  // the fixed point, and masks need not be asked for.
  const std::size_t num_actions = domain_.spec().num_actions();
  const float cost = domain_.spec().action_cost;
  const auto rows = static_cast<std::size_t>(chunk.rows);
  const std::size_t width = TargetWidth(domain_.spec(), options_.head);
  const std::span<float> targets =
      out.floats(kTargetColumn).subspan(chunk.first * width, rows * width);
  const auto backup = [&](std::size_t child) {
    return cost + (expanded.child_is_goal[child] != 0
                       ? 0.0F
                       : std::max(expanded.child_values[child], 0.0F));
  };
  const auto most = [&](std::size_t row, float way_to_it) {
    return options_.capped ? expanded.walk_costs[row] + way_to_it
                           : std::numeric_limits<float>::infinity();
  };
  if (options_.head == Head::kQ) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i] = std::min(backup(i), most(i / num_actions, 2 * cost));  // there and back
    }
    return;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    float best = most(i, 0);
    for (std::size_t child = i * num_actions; child < (i + 1) * num_actions; ++child) {
      best = std::min(best, backup(child));
    }
    targets[i] = expanded.is_goal[i] != 0 ? 0.0F : best;
  }
}

}  // namespace tandem
