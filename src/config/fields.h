// The keys of a config: names, meanings, and the values that each accepts. field_table.cc has them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "config/config.h"
#include "tandem/registry.h"

namespace tandem {

/// Upper bound of a field that has no practical limit.
inline constexpr std::int64_t kMany = 1'000'000'000'000;

// The kinds of fields. `value` points into the Config.

/// A number, or nothing if `Value` is optional and the config says kNothing.
template <class Value>
struct NumberField {
  using Number = Value;
  Value* value;
  Number least, most;
};

template <class Value>
struct NumberField<std::optional<Value>> {
  using Number = Value;
  static constexpr std::string_view kNothing = std::is_integral_v<Value> ? "auto" : "null";
  std::optional<Value>* value;
  Number least, most;
};

struct TextField {
  std::string* value;
  std::string expected;
  bool (*accepts)(std::string_view) = nullptr;  ///< null: any text that is not empty
  bool may_be_null = false;                     ///< the text is empty if the config says `null`
};

/// Work before which files and folders of a config must exist: a new run of `tandem train`, a
/// resumed one, or `tandem generate`.
enum class PathsOf { kNothing, kNewRun, kResumedRun, kShards };

/// The path of a file or folder; empty if the config says `null`. A saved config has it in absolute
/// form, and no command replaces its file by an output.
struct PathField {
  std::string* value;
  std::string_view kind;  ///< "file", "folder" or "file or folder"
  bool (*must_exist)(const Config&, PathsOf);

  bool is_folder() const { return kind == "folder"; }
};

/// The argument for the parameter of the puzzle `domain`.
struct ArgumentField {
  std::string* value;
  std::string domain;
  DomainParameter parameter;
};

struct ChoiceField {
  std::vector<std::string> names;
  std::function<std::size_t()> get;
  std::function<void(std::size_t)> set;
};

/// Need is a condition of a key: with a value other than the default, a config that does not meet
/// it is refused.
struct Need {
  std::string_view other;  ///< the key on which the condition depends
  bool (*is_met)(const Config&);
  std::string_view why;          ///< why the key needs it: a sentence
  std::string_view advice = {};  ///< "Set generate.search to beam"; empty: only to remove the key
};

/// KeyTraits says what depends on a key, and on what the key depends.
struct KeyTraits {
  bool try_first = false;  ///< marked in the reference as one of the keys to try first
  /// Whether a resumed run may have another value, because it does not change what the run learns
  /// but for rounding. Files may have moved; the user must know that they have the same content.
  bool may_change = false;
  bool is_of_machine = false;  ///< `auto` on the machine that uses a trained network
  std::vector<Need> needs = {};

  /// Whether the key has an effect. null: always.
  bool (*is_used)(const Config&) = nullptr;
  std::string_view why_unused = {};  ///< why it has no effect, for a warning

  /// Whether generated rows or their labels depend on the key, so that the description of a set of
  /// shards has it. null: never. Of keys that were added later, a set has only those that make a
  /// difference, so that older sets stay valid. generate.target is in a description in another way.
  bool (*is_in_sets)(const Config&) = nullptr;

  /// Whether the description of a stream has the key. A generator may run on another device and
  /// with another precision, so the keys of these are not in it, nor those of targets whose rows no
  /// stream has.
  bool is_in_streams = false;
};

/// Field describes one key of a config: its name, its documentation, the values that it accepts,
/// where in a Config its value is stored, and what depends on it.
struct Field {
  std::string key;      ///< with its section: "train.batch_size"
  std::string meaning;  ///< what `tandem config --reference` prints: one or two sentences
  std::variant<NumberField<std::int64_t>, NumberField<AutoInt>, NumberField<double>,
               NumberField<std::optional<double>>, TextField, PathField, ArgumentField, ChoiceField>
      value;
  KeyTraits traits = {};

  std::string section() const;  ///< "train"; "" if the key has none
  std::string name() const;     ///< "batch_size"
};

/// Returns the kinds of networks that `network.kind` accepts: those of Tandem, then the added ones.
std::vector<std::string> NetworkKindNames();

/// Adds a name to NetworkKindNames, unless it is known already. RegisterNetwork (nn/network.h)
/// calls this. Call it from one thread, before a config is read.
void AddNetworkKindName(std::string name);

/// Returns every key, in the order in which a config is written. The fields point into `config`,
/// which must outlive them. The keys under `domain` depend on the puzzle that `config` names.
std::vector<Field> FieldsOf(Config& config);

/// Returns one key of a config; nothing if there is no such key.
std::optional<Field> FindField(Config& config, std::string_view key);

/// Describes the values that a field accepts: "a whole number from 1 to 64, or auto".
std::string Expected(const Field& field);

/// Parses `text` and stores it in the field. Returns false, and changes nothing, if the text does
/// not match Expected(). May throw InputError if a puzzle rejects its argument with a reason.
bool SetField(const Field& field, std::string_view text);

/// Returns the value as a config writes it.
std::string FieldText(const Field& field);

/// Returns the value of one key of a config as text; nothing if there is no such key.
std::optional<std::string> FindValueText(const Config& config, std::string_view key);

/// Returns the value of one key of a config as text. The key must exist.
std::string ValueText(const Config& config, std::string_view key);

/// Returns the N of "cuda:N", 0 for "cuda", and nothing for other names.
std::optional<int> CudaIndex(std::string_view name);

/// Returns whether `name` is "auto", "cpu", "cuda" or "cuda:N". The device need not exist.
bool IsDeviceName(std::string_view name);

/// Returns the end of the error for an unknown `domain.name`: ". Did you mean cube3?".
std::string SuggestDomain(const std::string& name);

/// Returns the end of the error for an unknown key of a config whose puzzle is `domain`: the
/// puzzles that have the key, a key of `fields` that other programs call so or that is like it, or
/// else the sections.
std::string SuggestKey(const std::string& key, const std::vector<Field>& fields,
                       std::string_view domain);

/// Advice for a run that needs too much memory: which keys to change.
inline constexpr const char* kToSpareMemory =
    "lower train.batch_size, train.iterations_per_update, replay.updates, generate.chunk_rows, "
    "generate.search_iterations, inference.batch_size, network.width, network.blocks, "
    "search.beam_width or search.max_nodes, or raise train.accumulation_steps";
inline constexpr const char* kToSpareBuffers =  // of rows to train on
    "lower train.batch_size or train.iterations_per_update";
inline constexpr const char* kToSpareGpuMemory =
    "raise train.accumulation_steps, or lower train.batch_size, inference.batch_size, "
    "network.width, prefetch.depth, search.beam_width or search.batch";

}  // namespace tandem
