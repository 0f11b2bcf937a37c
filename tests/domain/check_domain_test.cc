// The conformance suite describes each fault, with the state and the action that show it.
#include "tandem/check_domain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "domain/wrong_domains.h"
#include "domain/wrong_puzzles.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// The first broken promise that CheckDomain reports, or "".
std::string FirstBroken(const Domain& domain) {
  for (const DomainCheck& check : CheckDomain(domain)) {
    if (!check.broken.empty()) return check.promise + ": " + check.broken;
  }
  return "";
}

TEST(CheckDomain, AcceptsCorrectDomains) {
  EXPECT_EQ(FirstBroken(Walker()), "");
  EXPECT_EQ(FirstBroken(OneWay()), "");
}

TEST(Domain, BoardMustHaveAsManyCellsAsTheInputHasPositions) {
  DomainSpec spec = Walker::Spec();
  spec.board = BoardShape{.rows = 1, .columns = 1};
  EXPECT_EQ(Walker(spec).spec().board->columns, 1);
  spec.board->columns = 2;
  try {
    const Walker walker(spec);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "domain 'walker': board of 1 x 2 cells, expected as many cells as input.positions, 1");
  }
}

TEST(PuzzleDomain, NamesAParsedByteThatIsTooLarge) {
  const PuzzleDomain<LampsWithLetters> lamps("lamps");
  std::vector<std::uint8_t> state(3);
  lamps.ParseState("aba", state);
  EXPECT_EQ(state, (std::vector<std::uint8_t>{0, 1, 0}));
  try {
    lamps.ParseState("abd", state);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), "position 2 is 3, expected a number from 0 to 1");
  }
}

TEST(CheckDomain, DetectsWrongInversesAndMasks) {
  EXPECT_EQ(FirstBroken(WrongInverse()),
            "inverse actions undo their actions: action r in state 4: l does not undo it, but "
            "leads to state 5");
  EXPECT_EQ(FirstBroken(ForgottenMask()),
            "inverse actions undo their actions: action l in state 0: r does not undo it, but "
            "leads to state 1");
  EXPECT_EQ(FirstBroken(MaskThatForbidsTooMuch()),
            "Mask says which actions change a state: action l in state 3: Mask says that it does "
            "not apply, yet Apply changes the state");
  EXPECT_EQ(FirstBroken(MaskThatAllowsTooMuch()),
            "Mask says which actions change a state: action l in state 0: Mask says that it "
            "applies, yet Apply leaves the state unchanged");
}

TEST(CheckDomain, DetectsWrongGoals) {
  EXPECT_EQ(
      FirstBroken(GoalThatIsRejected()),
      "WriteGoals and DrawGoals write goals: IsGoal rejects a goal that WriteGoals wrote: state 1");
  EXPECT_EQ(FirstBroken(GoalFlagOf255()),
            "WriteGoals and DrawGoals write goals: exception: state 0: IsGoal sets the flag to "
            "255, expected 1 for a goal, else 0");
  EXPECT_EQ(FirstBroken(ClaimsPerProblemGoals()),
            "WriteGoals and DrawGoals write goals: DrawGoals writes the same goal for every seed, "
            "yet per_problem_goals is true");
}

TEST(CheckDomain, DetectsWrongListsOfGoals) {
  EXPECT_EQ(FirstBroken(TwoGoals()), "");
  EXPECT_EQ(FirstBroken(ForgottenGoal()),
            "AllGoals has all goals of a problem: AllGoals lacks a goal of the problem: state 0");
  EXPECT_EQ(
      FirstBroken(GoalTooMany()),
      "AllGoals has all goals of a problem: AllGoals has a state that is not a goal: state 5");
}

TEST(CheckDomain, DetectsWrongPredecessors) {
  const std::string promise = "actions lead from the states of Predecessors, and only from them: ";
  EXPECT_EQ(FirstBroken(ForgottenPredecessor()),
            promise + "action r in state 4: Predecessors does not lead back");
  EXPECT_EQ(FirstBroken(PredecessorTooMany()),
            promise + "Predecessors of state 5 has state 8, from which no action leads there");
}

TEST(CheckDomain, DetectsAnEmptyPicture) {
  EXPECT_EQ(FirstBroken(EmptyPicture()),
            "every state has a picture: state 0: the picture has no cells");
}

TEST(CheckDomain, DetectsAPictureThatCannotBeDrawn) {
  EXPECT_EQ(FirstBroken(PictureOfWidthZero()),
            "every state has a picture: state 0: the picture has a cell with x 0, y 0 and width 0, "
            "expected numbers and a width above 0");
  EXPECT_EQ(FirstBroken(PictureWithoutCharacters()),
            "every state has a picture: state 0: unit_width of the picture is 0, expected at least "
            "1");
}

TEST(Domain, DefaultInputOfAnotherSizeThanTheStateIsAnError) {
  const ForgottenEncode domain;
  const std::vector<std::uint8_t> state(2);
  std::vector<std::uint8_t> input(1);
  try {
    domain.Encode(ConstRows(std::span(state)), Rows(std::span(input)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "domain 'walker': input.positions is 1 and state_size is 2, so it must override "
              "Encode");
  }
}

TEST(CheckDomain, DetectsAMethodThatOnlyOneThreadMayCall) {
  const std::string broken = FirstBroken(ApplyForOneThread());
  EXPECT_TRUE(broken.starts_with("several threads may call it at once: ")) << broken;
  EXPECT_TRUE(broken.ends_with(" differs if several threads call at once")) << broken;
}

TEST(CheckDomain, DetectsGoalsThatMoveWrongly) {
  EXPECT_EQ(FirstBroken(GoalsThatMoveTheMarker()),
            "MoveGoals changes only the goal: action r in state 0 leads to another state after "
            "MoveGoals");
  EXPECT_EQ(FirstBroken(SaysThatGoalsMove()),
            "MoveGoals changes only the goal: exception: domain 'walker': spec().moves_goals is "
            "true, and it does not override MoveGoals");
}

TEST(CheckDomain, DetectsBatchesThatDifferFromSingleStates) {
  EXPECT_EQ(FirstBroken(ExpandInWrongOrder()),
            "Expand gives the same children as Apply: action l in state 0: Expand gives state 1, "
            "Apply gives state 0");
  const std::string last = FirstBroken(BatchWithoutLastRow());
  EXPECT_TRUE(last.starts_with(
      "a batch gives the same results as single rows: Apply of action r in state "))
      << last;
  EXPECT_TRUE(last.ends_with(" differs between a batch and a single row")) << last;
  EXPECT_EQ(FirstBroken(WritesBeyondTheRows()),
            "nothing is written outside the rows: Encode writes before the first row or after the "
            "last row of a batch");
  EXPECT_EQ(FirstBroken(WritesWithoutRows()),
            "nothing is written outside the rows: Encode writes before the first row or after the "
            "last row of a batch without rows");
  const std::string twice = FirstBroken(Nondeterministic());
  EXPECT_TRUE(twice.starts_with("methods are deterministic: Encode of state ")) << twice;
}

TEST(CheckDomain, DetectsWrongNetworkInputs) {
  EXPECT_EQ(FirstBroken(InputAboveDepth()),
            "network inputs are below input.depth: state 9: position 0 of its input is 9, expected "
            "below 9");
  const std::string confused = FirstBroken(InputSharedByTwoStates());
  EXPECT_TRUE(confused.starts_with("different states have different inputs: state ")) << confused;
  EXPECT_TRUE(confused.ends_with(" have the same input")) << confused;
}

TEST(CheckDomain, DetectsStatesThatCannotBeReadBack) {
  EXPECT_EQ(FirstBroken(TextReadAsAnotherState()),
            "states and actions survive the round trip through text: state 9: its bytes are 8, but "
            "its text is parsed as 9");
  EXPECT_EQ(FirstBroken(DuplicateActionName()),
            "action names are different words: two actions are named l");
  EXPECT_EQ(
      FirstBroken(AcceptsAnyText()),
      "text that is not a state is rejected with InputError: ParseState accepts '' as a state");
  EXPECT_EQ(FirstBroken(WrongExceptionForText()),
            "text that is not a state is rejected with InputError: ParseState of '' throws another "
            "exception than InputError: stoi");
}

TEST(CheckDomain, DetectsWrongStepBack) {
  const std::string wrong = FirstBroken(StepsBackWrongly());
  EXPECT_TRUE(
      wrong.starts_with("the action that StepBack returns leads back: StepBack from state "))
      << wrong;
  EXPECT_EQ(FirstBroken(MissingStepBack()),
            "random walks can be taken: exception: domain 'walker': it has no inverse_actions, so "
            "it must override StepBack");
  EXPECT_EQ(FirstBroken(StepBackByUnknownAction()),
            "random walks can be taken: exception: domain 'walker': StepBack returned 65535, "
            "expected an action, from 0 to 1");
}

TEST(CheckDomain, DetectsScramblesThatNeverLeaveTheGoal) {
  const std::string promise = "scrambles leave the goal: ";
  const std::string always = FirstBroken(PuzzleDomain<LampsThatAreAlwaysSolved>("lamps"));
  EXPECT_TRUE(always.starts_with(promise +
                                 "IsGoal accepts every state of the walks as a goal, for example "))
      << always;
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatDeclareInversesAndStayOff>("lamps")),
            promise + "no action changes the goal, so there is no other state: state 0 0 0");
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsWithNoStepBack>("lamps")),
            promise + "StepBack does not change the goal, so there is no other state: state 0 0 0");
}

TEST(CheckDomain, ReportsExceptionsNotDerivedFromStdException) {
  const std::string thrown = ": unknown exception (not derived from std::exception)";
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatThrow>("lamps")),
            "states and actions survive the round trip through text" + thrown);
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatThrowInWalks>("lamps")),
            "random walks can be taken" + thrown);
}

TEST(CheckDomain, DetectsWalksThatDoNotBeginAtAGoal) {
  const std::vector<DomainCheck> checks = CheckDomain(GoalThatIsRejected());
  const auto check = std::ranges::find(checks, "scrambles can be undone", &DomainCheck::promise);
  ASSERT_NE(check, checks.end());
  EXPECT_EQ(check->broken, "a walk begins at a state that is not a goal: state 1");
}

// The error message of the constructor, or "".
template <class P>
std::string ErrorOf() {
  try {
    PuzzleDomain<P>("lamps");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Puzzle, ConstructorTriesActionsNearTheGoal) {
  EXPECT_EQ(ErrorOf<Lamps>(), "");
  EXPECT_EQ(ErrorOf<LampsWithByteAboveDepth>(),
            "puzzle 'lamps': byte 0 of state 3 0 0 is 3, expected below kDepth, 2");
  EXPECT_EQ(ErrorOf<LampsWithWrongInverse>(),
            "puzzle 'lamps': Inverse returned -1, expected an action, from 0 to 2");
  EXPECT_EQ(ErrorOf<LampsThatTurnOnAlone>(),
            "puzzle 'lamps': no action undoes action 0, so the struct must have StepBack");
  const std::string random = ErrorOf<LampsThatSwitchAtRandom>();
  EXPECT_TRUE(random.ends_with(" differs from call to call")) << random;
}

TEST(Puzzle, ConstructorRejectsNumbersThatNoPuzzleHas) {
  EXPECT_EQ(ErrorOf<LampsWithActions<-1>>(), "puzzle 'lamps': kActions is -1, expected 1 to 65536");
  EXPECT_EQ(ErrorOf<LampsWithDepth<0>>(), "puzzle 'lamps': kDepth is 0, expected 1 to 256");
  EXPECT_EQ(ErrorOf<LampsWithDepth<257>>(), "puzzle 'lamps': kDepth is 257, expected 1 to 256");
}

TEST(Puzzle, CannotInferTheInverseOfAnActionThatAppliesInNoSample) {
  const std::string leap = ErrorOf<LineWithLeap>();
  EXPECT_TRUE(leap.starts_with("puzzle 'lamps': action 2 changes none of the ")) << leap;
  EXPECT_TRUE(
      leap.ends_with(" states in which it was tried, so its inverse cannot be found. Add `int "
                     "Inverse(int action)` to the struct, or StepBack if no action undoes it"))
      << leap;
  EXPECT_EQ(ErrorOf<LampsThatStayOff>().substr(0, 63),
            "puzzle 'lamps': action 0 changes none of the 1 states in which ");
  EXPECT_EQ(ErrorOf<LineWithDeclaredLeap>(), "");
}

TEST(Puzzle, InfersTheInverseOfAnActionThatAppliesOnlyFarFromTheGoal) {
  EXPECT_EQ(PuzzleDomain<Switches<false>>("switches").spec().inverse_actions[20], 13);
  EXPECT_EQ(ErrorOf<Switches<true>>(),
            "puzzle 'lamps': no action undoes action 20, so the struct must have StepBack");
}

TEST(Puzzle, StepBackMustReturnAnAction) {
  const std::string start = "random walks can be taken: exception: puzzle 'lamps': StepBack ";
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatStepBackBy<-1>>("lamps")),
            start + "returned -1, expected an action, from 0 to 2");
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatStepBackBy<65'536>>("lamps")),
            start + "returned 65536, expected an action, from 0 to 2");
}

TEST(Puzzle, SpecHasTheBoardIfTheStructHasOne) {
  EXPECT_FALSE(PuzzleDomain<Lamps>("lamps").spec().board.has_value());
  EXPECT_EQ(PuzzleDomain<LampsInAColumn>("lamps").spec().board->rows, 3);
}

TEST(Puzzle, IdentityContainsTheVersionIfTheStructHasOne) {
  EXPECT_EQ(PuzzleDomain<Lamps>("lamps").spec().identity(), "lamps");
  EXPECT_EQ(PuzzleDomain<LampsOfVersionTwo>("lamps").spec().identity(), "lamps@2");
}

}  // namespace
}  // namespace tandem
