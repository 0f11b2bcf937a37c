#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/error_for.h"
#include "config/fields.h"
#include "config/load.h"
#include "support/source_folder.h"
#include "support/temp_folder.h"
#include "tandem/error.h"
#include "tandem/registry.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Config, ReadsSectionsValuesAndDefaults) {
  const Config config = ParseConfig(
      "seed: 7\n"
      "pipeline: {mode: sequential, policy_lag: 1}\n"
      "train:\n"
      "  batch_size: 123\n"
      "  max_updates: auto\n"
      "  max_seconds: 2.5\n"
      "prefetch:\n",
      "my.yaml");
  EXPECT_EQ(config.seed, 7);
  EXPECT_EQ(config.pipeline.mode, Mode::kSequential);
  EXPECT_EQ(config.pipeline.policy_lag, 1);
  EXPECT_EQ(config.train.batch_size, 123);
  EXPECT_EQ(config.train.max_updates, std::nullopt);
  EXPECT_EQ(config.train.max_seconds, 2.5);
  EXPECT_EQ(config.prefetch.depth, PrefetchConfig{}.depth);
  const Config defaults;
  EXPECT_EQ(ToYaml(ParseConfig("", "empty.yaml")), ToYaml(defaults));
}

TEST(Config, OverridesReplaceTheFileAndTheLastOneWins) {
  const Config config =
      ParseConfig("train: {batch_size: 5}\n", "my.yaml",
                  {ParseOverride("train.batch_size=6"), ParseOverride("train.batch_size=7")});
  EXPECT_EQ(config.train.batch_size, 7);
  const Override with_equals = ParseOverride("validation.file=a=b.jsonl");
  EXPECT_EQ(with_equals.key, "validation.file");
  EXPECT_EQ(with_equals.value, "a=b.jsonl");
}

TEST(Config, EveryFieldIsReadBackAsItWasWritten) {
  Config config;
  config.domain = {.name = "npuzzle", .argument = "5"};
  for (const Field& field : FieldsOf(config)) {
    // Set a valid value that differs from the default, for each kind of field.
    if (const auto* f = std::get_if<NumberField<std::int64_t>>(&field.value))
      *f->value = f->least + 1;
    if (const auto* f = std::get_if<NumberField<AutoInt>>(&field.value)) *f->value = f->least;
    if (const auto* f = std::get_if<NumberField<double>>(&field.value)) *f->value = f->most / 3;
    if (field.key == "domain.name") continue;   // set above, since other keys depend on it
    if (field.key == "network.kind") continue;  // resnet_2d contradicts the last of other choices
    if (const auto* f = std::get_if<TextField>(&field.value); f && !f->may_be_null)
      *f->value = f->accepts != nullptr ? "cpu" : "other";
    if (const auto* f = std::get_if<ChoiceField>(&field.value)) f->set(f->names.size() - 1);
  }
  config.data.path = "shards";  // data.source is now shards, which needs a path
  config.validation.file = "known.jsonl";
  // Reset the keys that contradict sync_main (the last mode) or replay.
  config.generate.target = Target::kCappedValueIteration;
  config.generate.temperature = 0;
  config.generate.backup = Backup::kOneStep;
  config.network.head = Head::kQ;
  config.network.stem_width = 0;  // contradicts input_layer linear
  config.profile.timing_breakdown = false;
  config.train.policy_weight = 1;
  config.search.policy_weight = 0;
  config.search.policy_actions = 0;
  config.generate.program = Program::kDomain;  // the other one contradicts most of these keys
  config.search.program = Program::kDomain;
  config.backend = BackendKind::kCpu;  // the only one with the last precision
  const std::string yaml = ToYaml(config);
  EXPECT_EQ(ToYaml(ParseConfig(yaml, "my.yaml")), yaml);
  const Config defaults;
  EXPECT_NE(yaml, ToYaml(defaults));

  Config others;
  others.network.stem_width = 8;
  others.profile.timing_breakdown = true;
  others.network.head = Head::kVp;
  others.train.policy_weight = 2;
  others.search.policy_weight = 0.5;
  others.search.policy_actions = 3;
  EXPECT_EQ(ToYaml(ParseConfig(ToYaml(others), "my.yaml")), ToYaml(others));
  EXPECT_NE(ToYaml(others), ToYaml(defaults));

  Config tensors;
  tensors.generate.program = Program::kTensor;
  tensors.search.program = Program::kTensor;
  EXPECT_EQ(ToYaml(ParseConfig(ToYaml(tensors), "my.yaml")), ToYaml(tensors));
  EXPECT_NE(ToYaml(tensors), ToYaml(defaults));
}

TEST(Config, PathsOfAnyBytesAreReadBackAsTheyWereWritten) {
  Config config;
  for (const char* path : {"/a", "/a b/\xE9t\xE9", "/a: b/\xE9", "/a #\xFF'\"", "/\xC3\xA9: x",
                           "'\xE9'", "/a: \xC3\xA9\n"}) {
    config.validation.file = path;
    const Config again = ParseConfig(ToYaml(config), "my.yaml");
    EXPECT_EQ(again.validation.file, path);
  }
  config.validation.file = "/a\n/\xE9";
  EXPECT_THAT([&] { ToYaml(config); },
              ThrowsMessage<InputError>(HasSubstr("line breaks and bytes that are not UTF-8")));
}

TEST(Config, UnknownNetworkKindErrorListsTheKnownKinds) {
  EXPECT_EQ(ParseConfig("", "my.yaml").network.kind, "resnet_fc");
  const Config board = ParseConfig("network: {kind: resnet_2d, norm: batch}", "my.yaml");
  EXPECT_EQ(board.network.kind, "resnet_2d");
  EXPECT_EQ(ParseConfig(ToYaml(board), "my.yaml").network.kind, "resnet_2d");
  EXPECT_EQ(ErrorFor("network: {kind: mlp, stem_width: 9, norm: rms}"), "");
  EXPECT_THAT(ErrorFor("network: {kind: resnet_3d}"),
              HasSubstr("`network.kind` is 'resnet_3d', expected one of resnet_fc, resnet_2d"));
}

TEST(Config, KindAddedByAProgramIsAccepted) {
  const std::string yaml = "network: {kind: of_this_test}";
  // No name is ever removed, so only the first repetition of this test sees the error.
  static const std::string before = ErrorFor(yaml);
  EXPECT_THAT(before, HasSubstr("`network.kind` is 'of_this_test', expected one of"));
  AddNetworkKindName("of_this_test");
  AddNetworkKindName("of_this_test");
  EXPECT_EQ(ErrorFor(yaml), "");
  EXPECT_THAT(NetworkKindNames(),
              testing::ElementsAre("resnet_fc", "resnet_2d", "mlp", "of_this_test"));
}

TEST(Config, UnknownKeyErrorNamesLineAndNearestKey) {
  EXPECT_EQ(ErrorFor("seed: 1\ntrain:\n  batchsize: 5\n"),
            "my.yaml:3: unknown key `train.batchsize`; did you mean `train.batch_size`?");
  EXPECT_EQ(ErrorFor("\nsead: 1\n"), "my.yaml:2: unknown key `sead`; did you mean `seed`?");
  EXPECT_EQ(ErrorFor("beam_width: 1\n"),
            "my.yaml:1: unknown key `beam_width`; did you mean `search.beam_width`?");
  EXPECT_EQ(ErrorFor("", {"train.batch=3"}),
            "--set train.batch=3: unknown key `train.batch`; did you mean `train.batch_size`?");
  EXPECT_EQ(ErrorFor("", {"train.seed=3"}),
            "--set train.seed=3: unknown key `train.seed`; did you mean `seed`?");
  EXPECT_EQ(ErrorFor("", {"inferense.threads=3"}),
            "--set inferense.threads=3: unknown key `inferense.threads`; did you mean "
            "`inference.threads`?");
  EXPECT_EQ(ErrorFor("", {"replay.quota=3"}),
            "--set replay.quota=3: unknown key `replay.quota`; the keys of replay are updates");
}

TEST(Config, UnknownKeyErrorNamesTheKeyThatOtherProgramsCallSo) {
  for (const auto& [theirs, ours] : std::vector<std::pair<std::string, std::string>>{
           {"optimizer.lr", "optimizer.learning_rate"},
           {"lr", "optimizer.learning_rate"},
           {"train.lr", "optimizer.learning_rate"},
           {"train.epochs", "train.max_updates"},
           {"search.width", "search.beam_width"},
           {"generate.beam_width", "generate.search_beam_width"},
           {"generate.epsilon", "generate.search_epsilon"},
           {"network.hidden_size", "network.width"},
           {"network.num_layers", "network.blocks"},
           {"num_workers", "generate.workers"},
           {"step_max", "generate.max_scramble"},
           {"generate.scramble_length", "generate.max_scramble"},
           {"train.grad_clip", "optimizer.max_grad_norm"},
           {"search.nodes", "search.max_nodes"},
           {"random_seed", "seed"}}) {
    EXPECT_EQ(ErrorFor("", {theirs + "=3"}),
              fmt::format("--set {0}=3: unknown key `{0}`; did you mean `{1}`?", theirs, ours));
  }
}

TEST(Config, WrongValueErrorNamesLineAndExpectedValues) {
  EXPECT_EQ(
      ErrorFor("train:\n  batch_size: many\n"),
      "my.yaml:2: `train.batch_size` is 'many', expected a whole number from 1 to 16,777,216");
  EXPECT_EQ(ErrorFor("train:\n  batch_size: 1e3\n"),
            "my.yaml:2: `train.batch_size` is '1e3', expected a whole number from 1 to 16,777,216");
  EXPECT_EQ(ErrorFor("prefetch:\n\n  depth: 0\n"),
            "my.yaml:3: `prefetch.depth` is '0', expected a whole number from 1 to 64");
  EXPECT_EQ(
      ErrorFor("generate: {workers: -1}\n"),
      "my.yaml:1: `generate.workers` is '-1', expected a whole number from 1 to 1,024, or auto");
  EXPECT_EQ(ErrorFor("optimizer: {decay: nan}\n"),
            "my.yaml:1: `optimizer.decay` is 'nan', expected a number from 0 to 1");
  EXPECT_EQ(ErrorFor("train: {ema_decay: 1}\n"),
            "my.yaml:1: `train.ema_decay` is '1', expected a number from 0 to 0.9999999");
  EXPECT_EQ(ErrorFor("train: {max_seconds: -1}\n"),
            "my.yaml:1: `train.max_seconds` is '-1', expected a number from 0 to 1,000,000,000");
  EXPECT_EQ(ErrorFor("pipeline: {mode: fast}\n"),
            "my.yaml:1: `pipeline.mode` is 'fast', expected one of async, sequential, "
            "sync_main");
  EXPECT_EQ(ErrorFor("seed:\n"),
            "my.yaml:1: `seed` is empty, expected a whole number from 0 to "
            "9,223,372,036,854,775,807");
  EXPECT_EQ(ErrorFor("seed: [1, 2]\n"),
            "my.yaml:1: `seed` is a list, expected a whole number from 0 to "
            "9,223,372,036,854,775,807");
  EXPECT_EQ(
      ErrorFor("", {"prefetch.depth=x"}),
      "--set prefetch.depth=x: `prefetch.depth` is 'x', expected a whole number from 1 to 64");
}

TEST(Config, RejectsListsMapsAndRepeatedKeys) {
  EXPECT_EQ(ErrorFor("train: 5\n"),
            "my.yaml:1: `train` is a section, expected keys under it, such as train.batch_size");
  EXPECT_EQ(ErrorFor("- a\n- b\n"),
            "my.yaml: not a config. Expected `key: value` lines, such as `seed: 1`.");
  EXPECT_THAT(ErrorFor("seed: {a: 1}\n"), HasSubstr("my.yaml:1: `seed` is a map, expected"));
  EXPECT_THAT(ErrorFor("device:\n"), HasSubstr("my.yaml:1: `device` is empty, expected"));
  EXPECT_EQ(ErrorFor("words\n"),
            "my.yaml: not a config. Expected `key: value` lines, such as `seed: 1`.");
  EXPECT_EQ(ErrorFor("train: {threads: 1}\nseed: 1\ntrain: {batch_size: 2}\n"),
            "my.yaml:3: `train` is set twice, first at my.yaml:1. Remove one.");
  EXPECT_EQ(ErrorFor("domain: {name: [cube3]}\n").substr(0, 36),
            "my.yaml:1: `domain.name` is a list, ");
  EXPECT_EQ(ErrorFor("seed: 1\nseed: 2\n"),
            "my.yaml:2: `seed` is set twice, first at my.yaml:1. Remove one.");
  EXPECT_EQ(ErrorFor("seed: 1\n  bad: [\n").substr(0, 30), "my.yaml:2: not valid YAML: ill");
  EXPECT_EQ(ErrorFor("train:\n\tbatch_size: 10\n"),
            "my.yaml:2: not valid YAML: illegal map value; the line is indented with a tab. Indent "
            "YAML with spaces, not tabs.");
  EXPECT_EQ(ErrorFor("seed: 1\n  bad: [\t\n").find("tab"), std::string::npos);
  EXPECT_EQ(ErrorFor("", {"seed"}),
            "--set seed: expected KEY=VALUE, such as train.batch_size=1000");
}

TEST(Config, ContradictionErrorNamesBothKeysAndWhereTheyWereSet) {
  EXPECT_EQ(
      ErrorFor("pipeline:\n  policy_lag: 0\n"),
      "`pipeline.policy_lag: 0` (my.yaml:2) contradicts `pipeline.mode: async` (the default): "
      "async fills a buffer while it trains on the previous one, so its lag is 1. Set "
      "pipeline.policy_lag to 1 or auto, or choose sequential.");
  EXPECT_NE(ErrorFor("train: {max_updates: auto}\n").find("contradicts `train.max_seconds: 0`"),
            std::string::npos);
  EXPECT_NE(ErrorFor("optimizer: {schedule: linear}\n", {"optimizer.learning_rate=0.00001"})
                .find("(--set optimizer.learning_rate=0.00001)"),
            std::string::npos);
  EXPECT_NE(
      ErrorFor("network: {norm: batch}\ntrain: {batch_size: 1}\n").find("at least 2 examples"),
      std::string::npos);
  EXPECT_NE(ErrorFor("train: {batch_size: 1000000, iterations_per_update: 1000000}\n")
                .find("at most 4,294,967,295"),
            std::string::npos);
}

TEST(Config, SearchNeedsATargetThatLabelsAnyState) {
  EXPECT_EQ(
      ErrorFor("generate:\n  search: greedy\n"),
      "`generate.search: greedy` (my.yaml:2) contradicts `generate.target: walk_length` (the "
      "default): a search leaves the random walk, so the walk does not label its "
      "states. Set generate.target to value_iteration, capped_value_iteration or own_solutions.");
  EXPECT_EQ(ErrorFor("generate: {search: astar, target: value_iteration}\n"), "");
  EXPECT_NE(ErrorFor("generate: {search: astar, target: value_iteration, search_iterations: 600}\n"
                     "train: {batch_size: 50, iterations_per_update: 10}\n")
                .find("a search must end within a buffer, which has 500 rows, and fills 600"),
            std::string::npos);
}

TEST(Config, SyncMainRejectsKeysThatItCannotWorkWith) {
  const std::string mode = "pipeline: {mode: sync_main}\n";
  const std::string begins = "`pipeline.mode: sync_main` (my.yaml:1) contradicts ";
  const std::string search = "generate: {target: value_iteration, search: greedy}\n";
  const std::string replay = "replay: {updates: 1}\n";
  EXPECT_EQ(ErrorFor(mode + search + replay), "");
  EXPECT_EQ(ErrorFor(mode + replay),
            begins +
                "`generate.target: walk_length` (the default): sync_main labels rows with the "
                "target network, which this target does not use. Set generate.target to "
                "value_iteration or capped_value_iteration.");
  EXPECT_EQ(ErrorFor(mode + "generate: {target: value_iteration}\n" + replay),
            begins +
                "`generate.search: none` (the default): in sync_main the network being "
                "trained guides searches. Set generate.search to greedy, beam or astar.");
  EXPECT_EQ(ErrorFor(mode + search),
            begins +
                "`replay.updates: 0` (the default): sync_main trains on rows from replay. "
                "Set replay.updates to at least 1.");
  EXPECT_EQ(ErrorFor(mode + search + replay, {"pipeline.policy_lag=1"}),
            "`pipeline.policy_lag: 1` (--set pipeline.policy_lag=1) contradicts `pipeline.mode: "
            "sync_main` (my.yaml:1): sync_main labels rows with the newest weights, so its lag is "
            "0. Set pipeline.policy_lag to 0 or auto.");
  const std::string games =
      "generate: {target: self_play}\nnetwork: {head: vp}\n"
      "validation: {every_updates: 0}\n";
  EXPECT_EQ(ErrorFor(mode + games + replay), "");
  EXPECT_NE(ErrorFor(mode + games).find("Set replay.updates to at least 1"), std::string::npos);
}

TEST(Config, AdviceOnMemoryNamesKeysThatExist) {
  Config config;
  std::string known;
  for (const Field& field : FieldsOf(config)) known += field.key + " ";
  std::istringstream advice(std::string(kToSpareMemory) + " " + kToSpareGpuMemory);
  for (std::string word; advice >> word;) {
    if (word.find('.') == std::string::npos) continue;
    if (word.back() == ',') word.pop_back();
    EXPECT_NE(known.find(word + " "), std::string::npos) << word;
  }
}

TEST(Config, RejectsASecondDocument) {
  EXPECT_EQ(ErrorFor("seed: 1\n---\nseed: 2\n"),
            "my.yaml:2: a second YAML document begins here; expected one document. "
            "Remove the `---`.");
  EXPECT_EQ(ErrorFor("---\nseed: 1\n...\n"), "");
  EXPECT_EQ(ErrorFor("# nothing\n"), "");
}

TEST(Config, RejectsATextOfMoreThanAMebibyte) {
  EXPECT_NO_THROW(ParseConfig("# " + std::string(1'000'000, 'x') + "\nseed: 2\n", "my.yaml"));
  EXPECT_THROW(ParseConfig("# " + std::string(1 << 20, 'x') + "\nseed: 2\n", "my.yaml"),
               InputError);
}

TEST(Config, RejectsANulByte) {
  const std::string why =
      " is NUL; the file is damaged or is not text. Expected YAML such as `seed: 1`.";
  EXPECT_EQ(ErrorFor(std::string(8, '\0')), "my.yaml:1: byte 1" + why);
  EXPECT_EQ(ErrorFor("seed: 1\n" + std::string(1, '\0') + "seed: 2\n"), "my.yaml:2: byte 9" + why);
}

// yaml-cpp reports an empty document before the comma, again and again.
TEST(Config, RejectsADocumentThatBeginsWithAComma) {
  EXPECT_EQ(ErrorFor(","), "my.yaml:1: not valid YAML: unexpected character in column 1");
  EXPECT_EQ(ErrorFor("{seed: 1},\n"),
            "my.yaml:1: not valid YAML: unexpected character in column 10");
}

std::string KnownDomains() {
  std::string all;
  for (const std::string& name : DomainNames()) all += (all.empty() ? "" : ", ") + name;
  return all;
}

TEST(Config, UnknownDomainErrorNamesKnownAndNearest) {
  const std::string own =
      " For a puzzle from a plug-in, add --plugin FILE; for one in Python, call "
      "tandem.register_domain first.";
  EXPECT_EQ(ErrorFor("domain:\n  name: cube33\n"),
            "my.yaml:2: `domain.name` is 'cube33', expected one of " + KnownDomains() +
                ". Did you mean cube3?" + own);
  EXPECT_EQ(ErrorFor("domain: {name: wobbly}\n"),
            "my.yaml:1: `domain.name` is 'wobbly', expected one of " + KnownDomains() + "." + own);
}

// The error of reading `yaml` from a file my.yaml, without its folder, if the paths of a new run
// must exist.
std::string ErrorOfNewRun(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  const TempFolder temp;
  const std::filesystem::path file = temp.path() / "my.yaml";
  std::ofstream(file) << yaml;
  std::vector<Override> overrides;
  for (const std::string& set : sets) overrides.push_back(ParseOverride(set));
  try {
    LoadConfig(file, overrides, PathsOf::kNewRun);
  } catch (const InputError& error) {
    const std::string message = error.what();
    const std::string folder = temp.path().string() + "/";
    return message.starts_with(folder) ? message.substr(folder.size()) : message;
  }
  return "";
}

TEST(Config, MissingPathErrorNamesTheKeyAndWhereItWasSet) {
  EXPECT_EQ(ErrorOfNewRun("seed: 1\nvalidation:\n  file: /none.jsonl\n"),
            "my.yaml:3: `validation.file`: /none.jsonl: no such file");
  EXPECT_EQ(ErrorOfNewRun("", {"network.init_from=/none"}),
            "--set network.init_from=/none: `network.init_from`: /none: no such file or folder");
  EXPECT_EQ(ErrorOfNewRun("data: {source: shards, path: /dev/null}\n"),
            "my.yaml:1: `data.path`: /dev/null: not a folder");
  EXPECT_EQ(ErrorOfNewRun("data: {source: shards, path: /none}\n"),
            "my.yaml:1: `data.path`: /none: no such folder");
}

TEST(Config, MissingPathIsNoErrorIfNothingUsesIt) {
  EXPECT_EQ(ErrorOfNewRun("validation: {every_updates: 0, file: /none.jsonl}\n"), "");
  EXPECT_EQ(ErrorFor("network: {init_from: /none}\n"), "");  // as when a run's config is read
}

TEST(Config, ParameterOfAPuzzleIsAKey) {
  const Config config = ParseConfig("domain: {size: 5, name: npuzzle}\n", "my.yaml");
  EXPECT_EQ(config.domain.full_name(), "npuzzle:5");
  EXPECT_NE(ToYaml(config).find("domain:\n  name: npuzzle\n  size: 5\n"), std::string::npos);
  EXPECT_EQ(ParseConfig(ToYaml(config), "my.yaml").domain.full_name(), "npuzzle:5");
  EXPECT_EQ(ValueText(config, "domain.size"), "5");

  const Config smaller = ParseConfig("domain: {name: npuzzle, size: 5}\n", "my.yaml",
                                     {ParseOverride("domain.size=3")});
  EXPECT_EQ(smaller.domain.full_name(), "npuzzle:3");
  const Config other =
      ParseConfig("domain: {name: cube3}\n", "my.yaml",
                  {ParseOverride("domain.size=6"), ParseOverride("domain.name=npuzzle")});
  EXPECT_EQ(other.domain.full_name(), "npuzzle:6");
}

TEST(Config, WholeKeyOfThePuzzleSelectsItsParameterToo) {
  EXPECT_EQ(ParseConfig("domain.name: npuzzle\n", "my.yaml").domain.full_name(), "npuzzle:4");
  EXPECT_EQ(ParseConfig("domain.size: 5\ndomain.name: npuzzle\n", "my.yaml").domain.full_name(),
            "npuzzle:5");
  EXPECT_THAT(ErrorFor("seed: 1\ndomain.name: cube33\n"),
              StartsWith("my.yaml:2: `domain.name` is 'cube33', expected one of "));
  EXPECT_EQ(ErrorFor("domain: {name: npuzzle}\ndomain.name: npuzzle\n"),
            "my.yaml:2: `domain.name` is set twice, first at my.yaml:1. Remove one.");
}

TEST(Config, ParameterOfAPuzzleHasADefault) {
  EXPECT_EQ(ParseConfig("domain: {name: npuzzle}\n", "my.yaml").domain.full_name(), "npuzzle:4");
  EXPECT_EQ(ParseConfig("domain: {name: cube3}\n", "my.yaml").domain.full_name(), "cube3:stickers");
  Config config;
  config.domain.name = "npuzzle";
  EXPECT_EQ(ParseConfig(ToYaml(config), "my.yaml").domain.full_name(), "npuzzle:4");
}

TEST(Config, WrongParameterErrorNamesKeyAndExpectedValues) {
  EXPECT_EQ(ErrorFor("domain:\n  name: npuzzle\n  size: 9\n"),
            "my.yaml:3: `domain.size` is '9', expected a whole number from 2 to 7, or sides "
            "that differ: 3x5");
  EXPECT_EQ(ErrorFor("domain: {name: npuzzle, size: [4]}\n"),
            "my.yaml:1: `domain.size` is a list, expected a whole number from 2 to 7, or sides "
            "that differ: 3x5");
  EXPECT_EQ(ErrorFor("domain: {name: npuzzle}\n", {"domain.size=big"}),
            "--set domain.size=big: `domain.size` is 'big', expected a whole number from 2 to 7, "
            "or sides that differ: 3x5");
  EXPECT_EQ(ErrorFor("domain:\n  name: cube3\n  size: 4\n"),
            "my.yaml:3: unknown key `domain.size`; cube3 has no such key, but grid, lights_out, "
            "npuzzle, othello, sokoban do");
  EXPECT_EQ(ErrorFor("domain: {name: npuzzle,\n  size: 4}\n", {"domain.name=cube3"}),
            "my.yaml:2: unknown key `domain.size`; cube3 has no such key, but grid, lights_out, "
            "npuzzle, othello, sokoban do");
  EXPECT_EQ(ErrorFor("domain: {name: npuzzle, sizes: 4}\n"),
            "my.yaml:1: unknown key `domain.sizes`; did you mean `domain.size`?");
  EXPECT_EQ(ErrorFor("", {"domain.name=npuzzle:5"}),
            "--set domain.name=npuzzle:5: `domain.name` is 'npuzzle:5', expected one of " +
                KnownDomains() + ". Did you mean npuzzle with `domain.size: 5`?");
  EXPECT_EQ(ErrorFor("domain: {name: cube4}\n"),
            "my.yaml:1: `domain.name` is 'cube4', expected one of " + KnownDomains() +
                ". Did you mean permutation with `domain.file: cube4`?");
}

TEST(Config, ShippedConfigsAreValid) {
  int configs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SourceFolder() / "configs")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NO_THROW(LoadConfig(entry.path())) << entry.path();
    ++configs;
  }
  EXPECT_GE(configs, 7);
}

TEST(Config, RejectsMissingFilesAndFolders) {
  EXPECT_THROW(LoadConfig("no/such.yaml"), InputError);
  EXPECT_THROW(LoadConfig(SourceFolder() / "configs"), InputError);
}

TEST(Config, ErrorOfAPuzzleAboutItsArgumentIsReported) {
  EXPECT_THAT(ErrorFor("domain: {name: permutation, file: no/such.yaml}\n"),
              StartsWith("my.yaml:1: `domain.file`: no/such.yaml cannot be read: expected"));
}

}  // namespace
}  // namespace tandem
