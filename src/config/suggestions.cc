#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"
#include "config/fields.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

// Names of one key in other programs, separated by spaces.
struct Names {
  std::string_view names;
  std::string_view meaning;

  bool Have(std::string_view name) const {
    return fmt::format(" {} ", names).find(fmt::format(" {} ", name)) != std::string::npos;
  }
};

// What PyTorch, Hugging Face, Sample Factory, DeepXube, DeepCubeA and CayleyPy call a key. Words
// without a section stand for the key in every section.
constexpr auto kOtherWords = std::to_array<Names>({
    {"env environment env_name puzzle problem game", "domain.name"},
    {"label labels label_type", "generate.target"},
    {"step_max back_max k_max scramble_length scramble_depth scramble_moves max_walk_length "
     "walk_length rw_length random_walk_length n_scrambles",
     "generate.max_scramble"},
    {"search_itrs", "generate.search_iterations"},
    {"temp", "generate.temperature"},
    {"bal balance_steps", "generate.curriculum"},
    {"her", "generate.hindsight"},
    {"procs num_procs n_procs num_workers n_workers num_envs n_jobs", "generate.workers"},
    {"rb replay_buffer replay_buffer_size buffer_size replay.size", "replay.updates"},
    {"sync_main async_rl", "pipeline.mode"},
    {"up_lt loss_threshold", "pipeline.loss_thresh"},
    {"target_update target_update_interval target_update_freq", "pipeline.refresh_every"},
    {"heur", "network.width"},
    {"arch architecture model_type model_name", "network.kind"},
    {"heur_type", "network.head"},
    {"hidden hidden_size hidden_dim hidden_dims hidden_features hidden_units layer_size h_dim",
     "network.width"},
    {"layers num_layers n_layers num_blocks n_blocks res_blocks num_resnet_blocks network.depth",
     "network.blocks"},
    {"normalization normalisation norm_type batch_norm use_batchnorm", "network.norm"},
    {"act act_fn activation_fn nonlinearity", "network.activation"},
    {"pretrained init_checkpoint load_checkpoint load_from resume_from", "network.init_from"},
    {"lr base_lr initial_lr alpha", "optimizer.learning_rate"},
    {"wd l2 l2_reg", "optimizer.weight_decay"},
    {"lr_d lr_decay gamma", "optimizer.decay"},
    {"scheduler lr_schedule lr_scheduler lr_scheduler_type", "optimizer.schedule"},
    {"min_lr eta_min final_lr lr_min", "optimizer.final_learning_rate"},
    {"warmup warmup_steps num_warmup_steps", "optimizer.warmup_iterations"},
    {"grad_clip clip_grad clip_grad_norm gradient_clipping max_norm", "optimizer.max_grad_norm"},
    {"epoch epochs num_epochs n_epochs max_epochs num_train_epochs max_steps train.steps max_itrs "
     "max_iterations num_iterations",
     "train.max_updates"},
    {"up_itrs steps_per_epoch epoch_length", "train.iterations_per_update"},
    {"train_for_seconds train.time_limit train.max_time", "train.max_seconds"},
    {"accum gradient_accumulation_steps grad_accum", "train.accumulation_steps"},
    {"amp dtype fp16 bf16 mixed_precision", "train.precision"},
    {"ema polyak tau", "train.ema_decay"},
    {"nnet_batch_size up_nnet_batch_size", "inference.batch_size"},
    {"pathfind pathfinding algorithm search_method search.name search.type", "search.method"},
    {"beam_size num_beams", "search.beam_width"},
    {"time_limit search.max_time search.timeout", "search.max_seconds"},
    {"eval_every eval_interval eval_steps eval_freq val_every val_check_interval t_up_freq",
     "validation.every_updates"},
    {"num_test n_test test_size t_num", "validation.states"},
    {"t_file val_file test_file eval_file", "validation.file"},
    {"save_every save_interval save_steps save_freq chkpt", "checkpoint.every_updates"},
    {"save_every_sec", "checkpoint.every_seconds"},
    {"keep_checkpoints save_total_limit", "checkpoint.keep"},
    {"profiler", "profile.trace_updates"},
    {"gpu gpus cuda use_cuda no_cuda accelerator", "device"},
    {"random_seed manual_seed random_state", "seed"},
});

// Returns the key that other programs call `key`, or "" if none of `keys` is.
std::string_view KeyCalled(std::string_view key, const std::vector<std::string>& keys) {
  const std::string_view name = key.substr(key.find('.') + 1);
  for (const Names& row : kOtherWords) {
    if (!row.Have(name) && !row.Have(key)) continue;
    return std::ranges::count(keys, row.meaning) > 0 ? row.meaning : "";
  }
  return "";
}

// Returns the puzzles that have the parameter `key`.
std::vector<std::string> DomainsWith(std::string_view key) {
  std::vector<std::string> owners;
  for (const std::string& name : DomainNames()) {
    const DomainParameter* parameter = ParameterOf(name);
    if (parameter == nullptr) continue;
    const bool is_input = parameter->has_pieces && key == "domain.input";
    if (is_input || key == "domain." + parameter->key) owners.push_back(name);
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
  if (const std::vector<std::string> owners = DomainsWith(key); !owners.empty()) {
    return fmt::format("; {} has no such key, but {} {}", domain, fmt::join(owners, ", "),
                       owners.size() == 1 ? "does" : "do");
  }
  std::vector<std::string> keys;
  std::vector<std::string> sections;
  std::vector<std::string> of_section;  // the names of the keys in the section of `key`
  keys.reserve(fields.size());
  for (const Field& field : fields) {
    keys.push_back(field.key);
    const std::string section = field.section();
    if (!section.empty() && key.starts_with(section + ".")) of_section.push_back(field.name());
    const bool is_new = sections.empty() || sections.back() != section;
    if (!section.empty() && is_new) sections.push_back(section);
  }
  if (const std::string_view meant = MostLike(key, keys); !meant.empty()) {
    return fmt::format("; did you mean `{}`?", meant);
  }
  if (!of_section.empty()) {
    return fmt::format("; the keys of {} are {}", key.substr(0, key.find('.')),
                       fmt::join(of_section, ", "));
  }
  return fmt::format("; the sections are {}", fmt::join(sections, ", "));
}

}  // namespace tandem
