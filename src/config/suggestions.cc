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

// Former is a key, a choice ("key: choice"), a command or an option that was renamed or removed
// before version 0.1.0. The error for it says what to use now.
struct Former {
  std::string_view name;
  std::string_view new_name;  // empty if it was removed
  std::string_view instead = {};
};
constexpr auto kFormer = std::to_array<Former>({
    {"pipeline.mode: one_fill", "",
     "to train on the same rows again, write them with `tandem generate` and set data.source to "
     "shards"},
    {"pipeline.overlap", "",
     "to generate and train in turn, set pipeline.mode to sequential and pipeline.policy_lag to 1"},
    {"data.reading", "", "shards are read into memory"},
    {"profile.product_rate", "", "bench/gpu_bench measures the rate of matrix products"},
    {"replay.map_to", "", "rows of earlier updates are kept in memory; lower replay.updates"},
    {"search.improve_seconds", "", "for shorter solutions, raise search.beam_width"},
    {"validation.prefetch", "", "validation follows prefetch.enabled"},
    {"validation.prefetch_depth", "", "validation follows prefetch.depth"},
    {"validation.pin_memory", "", "validation follows prefetch.pin_memory"},
    {"validation.copy_stream", "", "validation follows prefetch.copy_stream"},
    {"validation.metrics", "", "errors are summed on the CPU"},
    {"--improve", "", "for shorter solutions, raise --beam-width"},
    {"evaluate", "inference"},
    {"diagnose", "profile"},
    {"evaluate.batch_rows", "inference.batch_size"},
    {"inference.batch_rows", "inference.batch_size"},
    {"evaluate.precision", "inference.precision"},
    {"evaluate.threads", "inference.threads"},
    {"prefetch.pinned", "prefetch.pin_memory"},
    {"validation.pinned", "validation.pin_memory"},
    {"optimizer.max_gradient_norm", "optimizer.max_grad_norm"},
    {"diagnose.timing_breakdown", "profile.timing_breakdown"},
    {"diagnose.timing_every", "profile.timing_every"},
    {"diagnose.trace", "profile.trace"},
    {"diagnose.trace_from", "profile.trace_from"},
    {"diagnose.trace_updates", "profile.trace_updates"},
    {"diagnose.trace_epochs", "profile.trace_epochs"},
});

// Returns "" if `name` is not a name of an older version.
std::string DescribeFormer(std::string_view name) {
  const auto* const former = std::ranges::find(kFormer, name, &Former::name);
  if (former == kFormer.end()) return "";
  if (former->new_name.empty()) return fmt::format("; it was removed: {}", former->instead);
  return fmt::format("; it was renamed to `{}`", former->new_name);
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
  if (std::string former = DescribeFormer(key); !former.empty()) return former;
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

std::string SuggestWord(std::string_view word) { return DescribeFormer(word); }

std::string SuggestChoice(std::string_view key, std::string_view value) {
  return DescribeFormer(fmt::format("{}: {}", key, value));
}

}  // namespace tandem
