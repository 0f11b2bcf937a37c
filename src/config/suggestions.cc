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
constexpr std::string_view kEvents = "a run always writes events for TensorBoard";
constexpr std::string_view kNoLimit = "`ulimit -v` limits the memory of a process";
constexpr std::string_view kSecondRun = "start a second run with network.init_from";
constexpr std::string_view kLoss = "costs have the squared error as their loss";
constexpr std::string_view kAdam =
    "the optimizer is AdamW, which is Adam while optimizer.weight_decay is 0";
constexpr std::string_view kConstants = "beta1 is 0.9, beta2 0.999 and epsilon 1e-8, as in PyTorch";
constexpr std::string_view kBackend =
    "set backend to reference for autograd and operators, to cpu for fused, and to gpu for tensors "
    "and captured";
constexpr std::string_view kFirstLayer = "each backend computes the first layer in its faster way";
constexpr std::string_view kSchedule =
    "optimizer.schedule is constant, linear, cosine or exponential, and network.init_from starts a "
    "run with another learning rate";
constexpr std::string_view kOneGroup =
    "optimizer.learning_rate and optimizer.weight_decay hold for all layers";

// Keys, choices ("key: choice"), commands and options that were removed before version 0.1.0, and
// what to use instead.
constexpr auto kRemoved = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"generate.paths", kOwnSolutions},
    {"generate.problem_states", "problems have at most 500,000 states"},
    {"generate.target: supervised", kOwnSolutions},
    {"generate.target: exact_distance", "set generate.anchor_share to 1"},
    {"network.activation: silu", "use relu or leaky_relu"},
    {"memory.allocated_limit_gib", kNoLimit},
    {"memory.mapped_limit_gib", kNoLimit},
    {"memory.pinned_limit_gib", kNoLimit},
    {"phases", kSecondRun},
    {"train.batch_doubles_every", kSecondRun},
    {"train.on_stall", "train.watchdog_seconds saves the state and ends a run that is stuck"},
    {"train.on_invalid",
     "a loss or weight that is not finite ends the run; optimizer.max_grad_norm limits gradients"},
    {"train.step", kBackend},
    {"train.first_layer", kFirstLayer},
    {"inference.forward", kBackend},
    {"inference.first_layer", kFirstLayer},
    {"train.loss", kLoss},
    {"train.huber_delta", kLoss},
    {"optimizer.name", kAdam},
    {"optimizer.beta1", kConstants},
    {"optimizer.beta2", kConstants},
    {"optimizer.epsilon", kConstants},
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
    {"pipeline.refresh",
     "pipeline.loss_thresh and pipeline.solve_rate_margin say when the target network is "
     "refreshed; "
     "if both are null, pipeline.refresh_every alone does"},
    {"pipeline.refresh_margin", "set pipeline.solve_rate_margin"},
    {"pipeline.overlap",
     "to generate and train in turn, set pipeline.mode to sequential and pipeline.policy_lag to 1"},
    {"data.reading", "shards are read into memory"},
    {"profile.stream_ledger", "a run with data.source: stream always writes shards.jsonl"},
    {"profile.timing_every", "times are reported every 200 iterations"},
    {"profile.trace", "set profile.trace_updates to the number of updates to trace, such as 5"},
    {"profile.trace_epochs", "set profile.trace_updates to as many updates as the epochs take"},
    {"profile.product_rate", "bench/gpu_bench measures the rate of matrix products"},
    {"replay.map_to", "rows of earlier updates are kept in memory; lower replay.updates"},
    {"report", kEvents},
    {"report.tensorboard", kEvents},
    {"search.improve_seconds", "for shorter solutions, raise search.beam_width"},
    {"validation.batch_size", "states are evaluated 1000 at a time"},
    {"validation.log", "metrics.jsonl and `tandem report` have the results of each validation"},
    {"validation.prefetch", "validation follows prefetch.enabled"},
    {"validation.prefetch_depth", "validation follows prefetch.depth"},
    {"validation.pin_memory", "validation follows prefetch.pin_memory"},
    {"validation.copy_stream", "validation follows prefetch.copy_stream"},
    {"validation.metrics", "errors are summed on the CPU"},
    {"completion", "`tandem COMMAND --help` lists the options of a command"},
    {"export", "use `python -m tandem.convert export`"},
    {"import", "use `python -m tandem.convert import`"},
    {"--improve", "for shorter solutions, raise --beam-width"},
});

// Returns "" if `name` was not removed.
std::string DescribeRemoved(std::string_view name) {
  for (const auto& [removed, instead] : kRemoved) {
    if (name == removed) return fmt::format("; it was removed: {}", instead);
  }
  return "";
}

// What PyTorch, Hugging Face, Sample Factory, DeepXube, DeepCubeA and CayleyPy call a key. Words
// without a section stand for the key in every section.
struct OtherWords {
  std::string_view key, words;  // words are separated by spaces
};
constexpr auto kOtherWords = std::to_array<OtherWords>({
    {"domain.name", "env environment env_name puzzle problem game"},
    {"generate.target", "label labels label_type"},
    {"generate.max_scramble",
     "step_max back_max k_max scramble_length scramble_depth scramble_moves max_walk_length "
     "walk_length rw_length random_walk_length n_scrambles"},
    {"generate.search_iterations", "search_itrs"},
    {"generate.temperature", "temp"},
    {"generate.curriculum", "bal balance_steps"},
    {"generate.hindsight", "her"},
    {"generate.workers", "procs num_procs n_procs num_workers n_workers num_envs n_jobs"},
    {"replay.updates", "rb replay_buffer replay_buffer_size buffer_size replay.size"},
    {"pipeline.mode", "sync_main async_rl"},
    {"pipeline.loss_thresh", "up_lt loss_threshold"},
    {"pipeline.refresh_every", "target_update target_update_interval target_update_freq"},
    {"network.name", "heur"},
    {"network.kind", "arch architecture model_type model_name"},
    {"network.head", "heur_type"},
    {"network.width",
     "hidden hidden_size hidden_dim hidden_dims hidden_features hidden_units layer_size h_dim"},
    {"network.blocks",
     "layers num_layers n_layers num_blocks n_blocks res_blocks num_resnet_blocks network.depth"},
    {"network.norm", "normalization normalisation norm_type batch_norm use_batchnorm"},
    {"network.activation", "act act_fn activation_fn nonlinearity"},
    {"network.init_from", "pretrained init_checkpoint load_checkpoint load_from resume_from"},
    {"optimizer.learning_rate", "lr base_lr initial_lr alpha"},
    {"optimizer.weight_decay", "wd l2 l2_reg"},
    {"optimizer.decay", "lr_d lr_decay gamma"},
    {"optimizer.schedule", "scheduler lr_schedule lr_scheduler lr_scheduler_type"},
    {"optimizer.final_learning_rate", "min_lr eta_min final_lr lr_min"},
    {"optimizer.warmup_iterations", "warmup warmup_steps num_warmup_steps"},
    {"optimizer.max_grad_norm", "grad_clip clip_grad clip_grad_norm gradient_clipping max_norm"},
    {"train.max_updates",
     "epoch epochs num_epochs n_epochs max_epochs num_train_epochs max_steps train.steps max_itrs "
     "max_iterations num_iterations"},
    {"train.iterations_per_update", "up_itrs steps_per_epoch epoch_length"},
    {"train.max_seconds", "train_for_seconds train.time_limit train.max_time"},
    {"train.accumulation_steps", "accum gradient_accumulation_steps grad_accum"},
    {"train.precision", "amp dtype fp16 bf16 mixed_precision"},
    {"train.ema_decay", "ema polyak tau"},
    {"inference.batch_size", "nnet_batch_size up_nnet_batch_size"},
    {"search.method", "pathfind pathfinding algorithm search_method search.name search.type"},
    {"search.beam_width", "beam_size num_beams"},
    {"search.max_seconds", "time_limit search.max_time search.timeout"},
    {"validation.every_updates",
     "eval_every eval_interval eval_steps eval_freq val_every val_check_interval t_up_freq"},
    {"validation.states", "num_test n_test test_size t_num"},
    {"validation.file", "t_file val_file test_file eval_file"},
    {"checkpoint.every_updates", "save_every save_interval save_steps save_freq chkpt"},
    {"checkpoint.every_seconds", "save_every_sec"},
    {"checkpoint.keep", "keep_checkpoints save_total_limit"},
    {"profile.trace_updates", "profiler"},
    {"device", "gpu gpus cuda use_cuda no_cuda accelerator"},
    {"seed", "random_seed manual_seed random_state"},
});

// Returns the key that other programs call `key`, or "" if none of `keys` is.
std::string_view KeyCalled(std::string_view key, const std::vector<std::string>& keys) {
  const std::string name = fmt::format(" {} ", key.substr(key.find('.') + 1));
  const std::string whole = fmt::format(" {} ", key);
  const auto* const found = std::ranges::find_if(kOtherWords, [&](const OtherWords& row) {
    const std::string words = fmt::format(" {} ", row.words);
    return words.find(name) != std::string::npos || words.find(whole) != std::string::npos;
  });
  if (found == kOtherWords.end()) return "";
  return std::ranges::count(keys, found->key) > 0 ? found->key : "";
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

// Returns the key that is most like `key`, or "" if none is: what other programs call so, one that
// begins with `key`, the only one of its section whose name ends like that of `key`, the only one
// of the same name in another section, one with a similar text, or the first of the same name.
std::string_view MostLike(const std::string& key, const std::vector<std::string>& keys) {
  const std::size_t dot = key.find('.');
  const std::string name = key.substr(dot + 1);
  const std::string section = key.substr(0, dot == std::string::npos ? 0 : dot + 1);
  const auto find = [&](const auto& is_like) -> std::string_view {
    const auto found = std::ranges::find_if(keys, is_like);
    return found == keys.end() ? "" : std::string_view(*found);
  };
  if (key.empty()) return "";
  const auto begins = [&](std::string_view known) { return known.starts_with(key); };
  const auto has_name = [&](std::string_view known) {
    return known == name || known.ends_with("." + name);
  };
  const auto ends = [&](std::string_view known) {
    return !section.empty() && known.starts_with(section) && known.ends_with("_" + name);
  };
  if (const std::string_view known = KeyCalled(key, keys); !known.empty()) return known;
  if (const std::string_view known = find(begins); !known.empty()) return known;
  if (std::ranges::count_if(keys, ends) == 1) return find(ends);
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
