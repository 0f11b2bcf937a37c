// tandem play DOMAIN[:ARG] [--model RUN_DIR]
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command_line.h"
#include "apps/output.h"
#include "apps/played_state.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/stop_signal.h"
#include "base/text.h"
#include "search/greedy_search.h"
#include "search/problems.h"
#include "tandem/error.h"
#include "tandem/game.h"
#include "tandem/registry.h"
#include "tandem/state_text.h"

namespace tandem {
namespace {

constexpr std::int64_t kScrambleSteps = 30;
constexpr std::int64_t kMaxSteps = 1'000'000;

struct PlayArgs {
  StartArgs start;
  ModelArgs model;  // no network if `model.runs` is empty
};

std::string Count(std::size_t moves) { return Counted(static_cast<long long>(moves), "move"); }

// Parses `text`, the argument of `command`. Returns `default_count` if it is empty.
std::int64_t ParseCount(std::string_view command, std::string_view text,
                        std::int64_t default_count) {
  if (text.empty()) return default_count;
  const auto number = ParseNumber<std::int64_t>(text);
  if (number && *number >= 1 && *number <= kMaxSteps) return *number;
  throw InputError(fmt::format("{}: found '{}', expected a whole number from 1 to {}", command,
                               text, kMaxSteps));
}

// An interactive session. Each line of the input is moves or a command.
class Session {
 public:
  // `model` may be null.
  Session(const Domain& domain, const PuzzleModel* model, const StartArgs& args)
      : domain_(domain),
        game_(AsGame(domain)),
        model_(model),
        seed_(args.seed),
        played_(domain, StartState(domain, args)),
        scrambles_(args.random > 0 ? 1 : 0) {}

  // Reads and runs lines until the end. Returns the program's exit code.
  int Run() {
    fmt::print("{}: {}\nmoves: {}; `{}` lists the commands\n", domain_.spec().name,
               domain_.spec().summary, fmt::join(domain_.spec().action_names, " "), Typed("help"));
    Show();
    while (!over_ && signal_ == 0) {
      const std::optional<std::string> line = NextLine();
      if (!line) break;
      try {
        // A message ends at a NUL, so bytes that are no text are escaped before they get into one.
        Execute(Printable(AsUtf8(Trimmed(*line))));
      } catch (const InputError& error) {
        fmt::print("{}\n", error.what());
      }
    }
    return signal_ == 0 ? kDone : kSignalBase + signal_;
  }

 private:
  struct Command {
    std::string_view name, usage, meaning;
    void (Session::*run)(std::string_view argument);
  };
  static const std::array<Command, 9> kCommands;

  // Returns nothing at the end of the input or after a signal.
  std::optional<std::string> NextLine() {
    const bool prompts = IsTerminal(STDIN_FILENO) && IsTerminal(STDOUT_FILENO);
    const StopOnSignals signals;
    if (prompts) fmt::print("> ");
    FlushStandardOutput();
    std::optional<std::string> line = reader_.Next(signals.stop());
    if (!line && prompts) fmt::print("\n");
    signal_ = signals.caught();
    return line;
  }

  bool IsMove(std::string_view word) const {
    return std::ranges::count(domain_.spec().action_names, word) > 0;
  }

  // Returns how a command is typed: with a colon before it if a move has the same name.
  std::string Typed(std::string_view command) const {
    return fmt::format("{}{}", IsMove(command.substr(0, command.find(' '))) ? ":" : "", command);
  }

  // Returns null if `word` is not a command.
  const Command* Find(std::string_view word) const {
    if (IsMove(word)) return nullptr;
    if (word.starts_with(':')) word.remove_prefix(1);
    const auto* const found = std::ranges::find(kCommands, word, &Command::name);
    return found == kCommands.end() ? nullptr : found;
  }

  void Execute(std::string_view line) {
    line = Trimmed(line);
    if (line.empty()) return;
    const std::string_view word = Words(line).front();
    const std::string_view rest = Trimmed(line.substr(word.size()));
    const Command* const command = Find(word);
    if (command == nullptr) return Move(line);
    if (!rest.empty() && command->usage == command->name) {
      throw InputError(
          fmt::format("{}: found '{}' after the command, expected nothing", word, rest));
    }
    (this->*command->run)(rest);
  }

  void Move(std::string_view moves) {
    std::vector<Action> actions;
    try {
      actions = domain_.ParseMoves(moves, "");
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}; `{}` lists the commands", error.what(), Typed("help")));
    }
    const std::size_t made = played_.Move(actions);
    if (made > 0) Show();
    if (made == actions.size()) return;
    fmt::print("move {}, {}, does not apply here{}\n", made + 1,
               domain_.spec().action_names[actions[made]],
               made + 1 < actions.size() ? "; the moves after it were not made" : "");
  }

  // Returns "3 moves" in a game, where a move has no cost, and "3 moves, cost 3" in a puzzle.
  std::string Describe(std::size_t moves, float cost) const {
    return game_ != nullptr ? Count(moves) : fmt::format("{}, cost {:g}", Count(moves), cost);
  }

  void Show() {
    fmt::print("\n{}", ToTerminal(domain_.Draw(played_.state()), UseColour(STDOUT_FILENO)));
    if (game_ != nullptr && played_.solved()) {
      fmt::print("{} after {}\n", DescribeResult(), Count(played_.moves()));
    } else if (!played_.solved()) {
      fmt::print("{}\n", Describe(played_.moves(), played_.cost()));
    } else if (played_.moves() > 0) {
      fmt::print("solved in {}\n", Describe(played_.moves(), played_.cost()));
    } else {
      fmt::print("this is a goal; `{}` makes a puzzle\n", Typed("scramble"));
    }
  }

  // The commands. Each receives the text after the command's name.
  void Undo(std::string_view count) {
    const std::int64_t wanted = ParseCount("undo", count, 1);
    if (played_.Undo(static_cast<std::size_t>(wanted)) == 0) throw InputError("nothing to undo");
    Show();
  }

  void Scramble(std::string_view steps) {
    const std::int64_t wanted = ParseCount("scramble", steps, kScrambleSteps);
    played_.Start(RandomState(domain_, wanted, seed_, scrambles_++));
    Show();
  }

  void Reset(std::string_view /*nothing*/) {
    played_.Undo(played_.moves());
    Show();
  }

  // Requires that the game is over.
  std::string DescribeResult() const {
    Outcome outcome = Outcome::kDraw;
    std::uint8_t player = 0;
    game_->Outcomes(ConstRows(played_.state()), {&outcome, 1});
    game_->Players(ConstRows(played_.state()), {&player, 1});
    if (outcome == Outcome::kDraw) return "a draw";
    return (outcome == Outcome::kWin) == (player == 0) ? "the first player has won"
                                                       : "the second player has won";
  }

  // Searches from the current state. Throws InputError if a signal stops the search.
  SearchResult SearchBy(std::unique_ptr<Search>& search,
                        std::function<std::unique_ptr<Search>()> PuzzleModel::*make) {
    const PuzzleModel& model = RequireModel();
    const StopOnSignals signals;
    try {
      if (search == nullptr) search = (model.*make)();
      return SolveAndReplay(domain_, *search, played_.state(), signals.stop());
    } catch (const Stopped&) {
      over_ = signals.caught() != SIGINT;  // Ctrl-C ends only the search, not the game
      if (over_) signal_ = signals.caught();
      throw InputError("stopped");
    }
  }

  // Returns the best move in a game. Throws InputError if there is none.
  Action BestMove() {
    if (played_.solved()) throw InputError("the game is over");
    const SearchResult result = SearchBy(move_search_, &PuzzleModel::make_move_search);
    if (!result.best) throw InputError(move_search_->Failure(result));
    return result.best->actions.front();
  }

  void Reply(std::string_view /*nothing*/) {
    if (game_ == nullptr) throw InputError("reply: a puzzle has no other player");
    const Action move = BestMove();
    fmt::print("the network moves {}\n", domain_.spec().action_names[move]);
    played_.Move({&move, 1});
    Show();
  }

  void Hint(std::string_view /*nothing*/) {
    if (game_ != nullptr) {
      fmt::print("best move {}\n", domain_.spec().action_names[BestMove()]);
      return;
    }
    const tandem::Hint hint = HintFor(domain_, RequireModel().network, played_.state());
    if (played_.solved()) {
      fmt::print("this is a goal\n");
    } else if (!hint.action) {
      fmt::print("no move applies here\n");
    } else {
      const std::string& name = domain_.spec().action_names[*hint.action];
      if (hint.probability) {
        fmt::print("most probable move {}, {:.0f} %\n", name, 100 * *hint.probability);
        return;
      }
      fmt::print("estimated cost to the goal {:.2f}; best move {}, then {:.2f}\n", hint.estimate,
                 name, hint.rest);
    }
  }

  void Solve(std::string_view /*nothing*/) {
    const SearchResult result = SearchBy(search_, &PuzzleModel::make_search);
    if (!result.solved) throw InputError(search_->Failure(result));
    fmt::print("{}: {}\n", Describe(result.actions.size(), result.cost),
               domain_.FormatMoves(result.actions, domain_.FormatState(played_.state())));
  }

  void State(std::string_view /*nothing*/) {
    fmt::print("{}\n", domain_.FormatState(played_.state()));
  }

  void Help(std::string_view /*nothing*/) {
    for (const Command& command : kCommands) {
      fmt::print("  {:<14}{}\n", Typed(command.usage), command.meaning);
    }
    fmt::print("Any other line is a list of moves, separated by spaces: {}\n",
               fmt::join(domain_.spec().action_names, " "));
  }

  void Quit(std::string_view /*nothing*/) { over_ = true; }

  const PuzzleModel& RequireModel() const {
    if (model_ != nullptr) return *model_;
    throw InputError("no network is loaded; start with --model RUN_DIR");
  }

  const Domain& domain_;
  const GameDomain* const game_;  // of a game of two players; null for a puzzle
  const PuzzleModel* const model_;
  std::unique_ptr<Search> search_;  // this and the next are created when they are first used
  std::unique_ptr<Search> move_search_;
  const std::uint64_t seed_;
  PlayedState played_;
  LineReader reader_;
  std::uint64_t scrambles_;  // random states used so far
  bool over_ = false;
  int signal_ = 0;  // signal that ended the game; 0: none
};

const std::array<Session::Command, 9> Session::kCommands = {{
    {"undo", "undo [N]", "undo the last move, or the last N", &Session::Undo},
    {"scramble", "scramble [N]", "start again, N random steps from a goal (default: 30)",
     &Session::Scramble},
    {"reset", "reset", "go back to the start", &Session::Reset},
    {"hint", "hint",
     "show the network's best move, with its estimated cost to the goal or its probability",
     &Session::Hint},
    {"solve", "solve", "show the solution that `tandem solve` finds, without making its moves",
     &Session::Solve},
    {"reply", "reply", "let the network make the best move that it finds (games of two players)",
     &Session::Reply},
    {"state", "state", "print the state", &Session::State},
    {"help", "help", "print this list", &Session::Help},
    {"quit", "quit", "end the game, as the end of the input does", &Session::Quit},
}};
// Checks that the network was trained on the puzzle that the user named. NAME without an argument
// matches every argument: to a player, a cube is the same whichever input the network reads.
void CheckTrainedOn(const Domain& domain, const PlayArgs& args) {
  const std::string& trained = domain.spec().name;
  const std::string& wanted = args.start.domain;
  if (wanted == trained || wanted == trained.substr(0, trained.find(':'))) return;
  if (MakeDomain(wanted)->spec().name == trained) return;
  throw InputError(fmt::format("the network of {} is for {}, not for {}", args.model.runs.front(),
                               trained, wanted));
}

int RunPlay(const PlayArgs& args) {
  if (!args.model.runs.empty()) {
    return OpenTorchLibrary().with_model(args.model, [&](const PuzzleModel& model) {
      CheckTrainedOn(model.domain, args);
      return Session(model.domain, &model, args.start).Run();
    });
  }
  if (args.model.checkpoints != ModelArgs().checkpoints || !args.model.overrides.empty()) {
    throw InputError("--checkpoint and --set need a network: expected --model with them");
  }
  const auto domain = MakeDomain(args.start.domain);
  return Session(*domain, nullptr, args.start).Run();
}

}  // namespace

void AddPlay(CommandLine& line) {
  const auto [play, args] =
      AddCommand(line, "play", "Play a puzzle, with hints from a network", RunPlay);
  AddStartOptions(play, args.start);
  AddModelOptions(play, args.model);
  play.footer(
      "Each input line is moves or a command; `help` lists the commands. With a network\n"
      "(--model), `hint` shows the estimated cost to the goal and the best move, and `solve`\n"
      "shows a solution. In a game of two players, `reply` lets the network move.\n\n"
      "  tandem play npuzzle:4 --random 100\n"
      "  tandem play cube3 --model runs/my-run --scramble \"R U R' U'\"\n"
      "  printf 'R U\\nundo\\nstate\\n' | tandem play cube3");
}

}  // namespace tandem
