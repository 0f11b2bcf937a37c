#include "apps/command_line.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <system_error>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "config/choices.h"
#include "domain/moves.h"
#include "domain/random_walks.h"
#include "tandem/error.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

// Parses a state in the notation of the puzzle. If the state will be shown in another way than it
// was written, logs how it was understood.
std::vector<std::uint8_t> ReadState(const Domain& domain, const std::string& text) {
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
  domain.ParseState(text, state);
  if (Words(domain.FormatState(state)) != Words(text)) {
    const std::string reading = domain.Reading(text);
    if (!reading.empty()) LogInfo(reading);
  }
  return state;
}

// The folder with configs/ and data/. An installed program has them in share/tandem beside bin; one
// that was built in build/PRESET uses those of its sources.
std::filesystem::path ShippedFolder() {
  namespace fs = std::filesystem;
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path installed = program.parent_path() / "share" / "tandem";
  return fs::exists(installed) ? installed : program.parent_path().parent_path();
}

}  // namespace

CLI::Validator ShippedFile(const std::string& folder, const std::string& ending) {
  return {
      [folder, ending](std::string& name) {
        std::error_code ignored;
        const auto shipped = ShippedFolder() / folder / (name + ending);
        if (!std::filesystem::exists(name, ignored) && std::filesystem::exists(shipped, ignored)) {
          name = shipped.string();
        }
        return std::string();
      },
      ""};
}

CLI::Option* AddConfigOption(CLI::App& command, std::string& config) {
  return AddOption(command, "config", config, "CONFIG",
                   "YAML file, or a config of Tandem by name, such as quickstart")
      ->transform(ShippedFile("configs", ".yaml"));
}

void AddKeyOption(CLI::App& command, std::vector<Override>& overrides, const std::string& option,
                  const std::string& key, const std::string& help) {
  command
      .add_option_function<std::string>(
          "--" + option,
          [&overrides, option, key](const std::string& value) {
            overrides.push_back({key, value, "--" + option + " " + value});
          },
          help)
      ->type_name("VALUE")
      ->trigger_on_parse();  // if --seed and --set seed=N are both given, the later wins
}

void AddSetOption(CLI::App& command, std::vector<Override>& overrides, const std::string& help) {
  command
      .add_option_function<std::vector<std::string>>(
          "--set",
          [&overrides](const std::vector<std::string>& settings) {
            for (const std::string& setting : settings) overrides.push_back(ParseOverride(setting));
          },
          help)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->trigger_on_parse();
}

CLI::Option& AddModelOptions(CLI::App& command, ModelArgs& args) {
  CLI::Option* model =
      AddOption(command, "--model", args.runs, "RUN_DIR",
                "Folder of a run of `tandem train`; if repeated, the mean of the networks is used")
          ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--checkpoint",
          [&args](const std::string& text) { args.checkpoints = SplitList(text, "--checkpoint"); },
          "last, best (by validation), or a checkpoint file (default: last); if several, the mean "
          "of the networks is used")
      ->type_name("WHICH,...");
  AddSetOption(command, args.overrides, "Set a key of the run's config; may be repeated");
  return *model;
}

CLI::Option* AddStatesOptions(CLI::App& command, std::string& states,
                              std::optional<std::int64_t>& limit) {
  CLI::Option* const file =
      AddOption(command, "--states", states, "FILE",
                "File of JSON lines with `id`, `state` and, if known, `optimal`, `at_most` "
                "and `solution`; or one state per line")
          ->transform(ShippedFile("data", ".jsonl"));
  AddOption(command, "--limit", limit, "N", "Solve only the first N states")
      ->check(WholeNumber(1, std::int64_t{1} << 40));
  return file;
}

void AddSearchOptions(CLI::App& command, std::vector<Override>& overrides) {
  AddKeyOption(command, overrides, "search", "search.method", NamesIn(kSearchMethods));
  AddKeyOption(command, overrides, "beam-width", "search.beam_width",
               "States that beam search keeps at each depth");
  AddKeyOption(command, overrides, "weight", "search.weight",
               "Weight of the path's cost in A* and its variants; 0: the estimate alone decides");
  AddKeyOption(command, overrides, "ball", "search.ball_radius",
               "Treat states this close to the goal as goals; 5 suits Rubik's Cube");
  AddKeyOption(command, overrides, "inverse", "search.inverse",
               "Start beam search from the inverse position too: true, false or auto");
  AddKeyOption(command, overrides, "at-most", "search.at_most",
               "Look only for solutions that cost at most this; 0: no limit");
}

void AddDomainOption(CLI::App& command, std::string& domain) {
  AddOption(command, "domain", domain, "NAME[:ARG]", "Puzzle, such as cube3 or npuzzle:4")
      ->required();
}

void AddStartOptions(CLI::App& command, StartArgs& args) {
  AddDomainOption(command, args.domain);
  AddOption(command, "state,--state", args.state, "STATE",
            "State in the puzzle's notation (default: a goal)");
  AddOption(command, "--scramble", args.scramble, "MOVES",
            "Moves to make first, separated by spaces");
  AddOption(command, "--random", args.random, "STEPS", "Start STEPS random steps from a goal")
      ->check(WholeNumber(0, 1'000'000));
  AddSeedOption(command, args.seed);
}

CLI::Validator WholeNumber(std::int64_t least, std::int64_t most) {
  return {[least, most](const std::string& text) {
            const auto number = ParseNumber<std::int64_t>(text);
            if (number && *number >= least && *number <= most) return std::string();
            return fmt::format("expected a whole number from {} to {}, found '{}'", least, most,
                               text);
          },
          ""};
}

void AddSeedOption(CLI::App& command, std::uint64_t& seed) {
  AddOption(command, "--seed", seed, "N", "Seed of the random steps")
      ->capture_default_str()
      ->check([](const std::string& text) {
        if (ParseNumber<std::uint64_t>(text)) return std::string();
        return fmt::format("expected a whole number from 0 to {}, found '{}'",
                           std::numeric_limits<std::uint64_t>::max(), text);
      });
}

std::vector<std::uint8_t> RandomState(const Domain& domain, std::int64_t steps, std::uint64_t seed,
                                      std::uint64_t number) {
  std::vector<std::uint8_t> state(static_cast<std::size_t>(domain.spec().state_size));
  WalkFromGoal(domain, Random(seed, Purpose::kScramble, 0, number), steps, state);
  return state;
}

std::vector<std::uint8_t> StartState(const Domain& domain, const StartArgs& args) {
  if (!args.state.empty() && args.random > 0) {
    throw InputError("--random starts from a goal: expected no STATE with it");
  }
  std::vector<std::uint8_t> state = args.state.empty()
                                        ? RandomState(domain, args.random, args.seed, 0)
                                        : ReadState(domain, args.state);
  MakeMoves(domain, args.scramble, args.state, state);
  return state;
}

}  // namespace tandem
