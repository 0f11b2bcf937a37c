#include "config/suggestions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

constexpr std::string_view kOwnSolutions =
    "generate.target own_solutions learns from solutions that a search finds";
constexpr std::string_view kNoLimit = "`ulimit -v` limits the memory of a process";
constexpr std::string_view kSecondRun = "start a second run with network.init_from";
constexpr std::string_view kLoss = "costs have the squared error as their loss";
constexpr std::string_view kAdam = "optimizer.name is adam or adamw";
constexpr std::string_view kSchedule =
    "optimizer.schedule is constant, linear, cosine or exponential, and network.init_from starts a "
    "run with another learning rate";
constexpr std::string_view kOneGroup =
    "optimizer.learning_rate and optimizer.weight_decay hold for all layers";

// Keys, choices ("key: choice"), commands and options that were removed before version 0.1.0, and
// what to use instead.
constexpr auto kRemoved = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"generate.paths", kOwnSolutions},
    {"generate.target: supervised", kOwnSolutions},
    {"generate.target: exact_distance", "set generate.anchor_share to 1"},
    {"network.activation: silu", "use relu or leaky_relu"},
    {"memory.allocated_limit_gib", kNoLimit},
    {"memory.mapped_limit_gib", kNoLimit},
    {"memory.pinned_limit_gib", kNoLimit},
    {"phases", kSecondRun},
    {"train.batch_doubles_every", kSecondRun},
    {"train.loss", kLoss},
    {"train.huber_delta", kLoss},
    {"optimizer.name: sgd", kAdam},
    {"optimizer.name: muon", kAdam},
    {"optimizer.momentum", kAdam},
    {"optimizer.nesterov", kAdam},
    {"optimizer.muon_learning_rate", kAdam},
    {"optimizer.schedule: step", kSchedule},
    {"optimizer.schedule: wsd", kSchedule},
    {"optimizer.step_every", kSchedule},
    {"optimizer.step_factor", kSchedule},
    {"optimizer.decay_share", kSchedule},
    {"optimizer.first_layer_lr_factor", kOneGroup},
    {"optimizer.output_layer_lr_factor", kOneGroup},
    {"optimizer.first_layer_weight_decay_factor", kOneGroup},
    {"optimizer.output_layer_weight_decay_factor", kOneGroup},
    {"optimizer.bias_weight_decay_factor", kOneGroup},
    {"pipeline.mode: one_fill",
     "to train on the same rows again, write them with `tandem generate` and set data.source to "
     "shards"},
    {"pipeline.overlap",
     "to generate and train in turn, set pipeline.mode to sequential and pipeline.policy_lag to 1"},
    {"data.reading", "shards are read into memory"},
    {"profile.product_rate", "bench/gpu_bench measures the rate of matrix products"},
    {"replay.map_to", "rows of earlier updates are kept in memory; lower replay.updates"},
    {"search.improve_seconds", "for shorter solutions, raise search.beam_width"},
    {"validation.prefetch", "validation follows prefetch.enabled"},
    {"validation.prefetch_depth", "validation follows prefetch.depth"},
    {"validation.pin_memory", "validation follows prefetch.pin_memory"},
    {"validation.copy_stream", "validation follows prefetch.copy_stream"},
    {"validation.metrics", "errors are summed on the CPU"},
    {"completion", "`tandem COMMAND --help` lists the options of a command"},
    {"--improve", "for shorter solutions, raise --beam-width"},
});

// Returns "" if `name` was not removed.
std::string DescribeRemoved(std::string_view name) {
  for (const auto& [removed, instead] : kRemoved) {
    if (name == removed) return fmt::format("; it was removed: {}", instead);
  }
  return "";
}

// Returns the puzzles that have the parameter `key`.
std::vector<std::string> DomainsWith(std::string_view key) {
  std::vector<std::string> owners;
  for (const std::string& name : DomainNames()) {
    const DomainParameter* parameter = ParameterOf(name);
    if (parameter != nullptr && key == "domain." + parameter->key) owners.push_back(name);
  }
  return owners;
}

// Returns the key that is most like `key`, or "" if none is: one that begins with `key`, the only
// one of the same name in another section, one with a similar text, or the first of the same name.
std::string_view MostLike(const std::string& key, const std::vector<std::string>& keys) {
  const std::string name = key.substr(key.find('.') + 1);
  const auto find = [&](const auto& is_like) -> std::string_view {
    const auto found = std::ranges::find_if(keys, is_like);
    return found == keys.end() ? "" : std::string_view(*found);
  };
  if (key.empty()) return "";
  const auto begins = [&](std::string_view known) { return known.starts_with(key); };
  const auto has_name = [&](std::string_view known) {
    return known == name || known.ends_with("." + name);
  };
  if (const std::string_view known = find(begins); !known.empty()) return known;
  if (std::ranges::count_if(keys, has_name) == 1) return find(has_name);
  if (const std::string_view known = Nearest(key, keys); !known.empty()) return known;
  return find(has_name);
}

}  // namespace

std::string SuggestDomain(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string bare_name = name.substr(0, colon);
  if (const DomainParameter* parameter = ParameterOf(bare_name); parameter != nullptr) {
    // NAME:ARGUMENT works only on the command line.
    return fmt::format(". Did you mean {} with `domain.{}: {}`?", bare_name, parameter->key,
                       name.substr(colon + 1));
  }
  if (const auto domain = DomainThatAccepts(name)) {
    return fmt::format(". Did you mean {} with `domain.{}: {}`?", *domain,
                       ParameterOf(*domain)->key, name);
  }
  constexpr std::string_view kOwnPuzzle =
      " For a puzzle from a plug-in, add --plugin FILE; for one in Python, call "
      "tandem.register_domain first.";
  const std::vector<std::string> known = DomainNames();
  if (const std::string_view nearest = Nearest(bare_name, known); !nearest.empty()) {
    return fmt::format(". Did you mean {}?{}", nearest, kOwnPuzzle);
  }
  return fmt::format(".{}", kOwnPuzzle);
}

std::string SuggestKey(const std::string& key, const std::vector<Field>& fields,
                       std::string_view domain) {
  if (std::string removed = DescribeRemoved(key); !removed.empty()) return removed;
  if (const std::vector<std::string> owners = DomainsWith(key); !owners.empty()) {
    return fmt::format("; {} has no such key, but {} {}", domain, fmt::join(owners, ", "),
                       owners.size() == 1 ? "does" : "do");
  }
  std::vector<std::string> keys;
  std::vector<std::string> sections;
  keys.reserve(fields.size());
  for (const Field& field : fields) {
    keys.push_back(field.key);
    const std::string section = field.section();
    const bool is_new = sections.empty() || sections.back() != section;
    if (!section.empty() && is_new) sections.push_back(section);
  }
  if (const std::string_view meant = MostLike(key, keys); !meant.empty()) {
    return fmt::format("; did you mean `{}`?", meant);
  }
  return fmt::format("; the sections are {}", fmt::join(sections, ", "));
}

std::string SuggestWord(std::string_view word) { return DescribeRemoved(word); }

std::string SuggestChoice(std::string_view key, std::string_view value) {
  return DescribeRemoved(fmt::format("{}: {}", key, value));
}

}  // namespace tandem
