// Wrong domains are told what is wrong with them, with the state and the action that show it.
#include "tandem/check_domain.h"

#include <gtest/gtest.h>

#include "domain/wrong_domains.h"
#include "domain/wrong_puzzles.h"
#include "tandem/error.h"

namespace tandem {
namespace {

// What CheckDomain says first.
std::string FirstBroken(const Domain& domain) {
  for (const DomainCheck& check : CheckDomain(domain)) {
    if (!check.broken.empty()) return check.promise + ": " + check.broken;
  }
  return "";
}

TEST(CheckDomain, FindsNoFaultWithWhatIsRight) {
  EXPECT_EQ(FirstBroken(Walker()), "");
  EXPECT_EQ(FirstBroken(OneWay()), "");
}

TEST(CheckDomain, ComparesInversesMasksAndActions) {
  EXPECT_EQ(FirstBroken(WrongInverse()),
            "inverses undo what applies: action r in state 4: l does not undo it, but leads to "
            "state 5");
  EXPECT_EQ(FirstBroken(ForgottenMask()),
            "inverses undo what applies: action l in state 0: r does not undo it, but leads to "
            "state 1");
  EXPECT_EQ(FirstBroken(MaskThatForbidsTooMuch()),
            "Mask tells which actions change a state: action l in state 3: Mask says that it does "
            "not apply, yet Apply changes the state");
  EXPECT_EQ(FirstBroken(MaskThatAllowsTooMuch()),
            "Mask tells which actions change a state: action l in state 0: Mask says that it "
            "applies, yet Apply leaves the state as it is");
}

TEST(CheckDomain, LooksAtGoals) {
  EXPECT_EQ(FirstBroken(GoalThatIsNone()),
            "goals are goals, and DrawGoals draws them: WriteGoals writes what IsGoal refuses: "
            "state 1");
  EXPECT_EQ(
      FirstBroken(GoalFlagOf255()),
      "goals are goals, and DrawGoals draws them: an exception: state 0: IsGoal sets the flag "
      "to 255, expected 1 for a goal and 0 for others");
  EXPECT_EQ(FirstBroken(SaysThatGoalsDiffer()),
            "goals are goals, and DrawGoals draws them: DrawGoals writes the one goal for every "
            "seed, yet per_problem_goals is true");
}

TEST(CheckDomain, ComparesBatchesWithSingleStates) {
  EXPECT_EQ(FirstBroken(ExpandInAnotherOrder()),
            "Expand makes what Apply makes: action l in state 0: Expand makes state 1, Apply makes "
            "state 0");
  const std::string last = FirstBroken(BatchThatForgetsTheLast());
  EXPECT_TRUE(last.starts_with("batches are treated row by row: Apply of action r in state "))
      << last;
  EXPECT_TRUE(last.ends_with(" differs in a batch from alone")) << last;
  EXPECT_EQ(FirstBroken(WritesBeyondTheRows()),
            "nothing is written outside the rows: some method writes before the first row or "
            "behind the last of a batch");
  const std::string twice = FirstBroken(NotTheSameTwice());
  EXPECT_TRUE(twice.starts_with("methods give the same each time: Encode of state ")) << twice;
}

TEST(CheckDomain, LooksAtInputs) {
  EXPECT_EQ(FirstBroken(InputTooDeep()),
            "what the network reads stays below its depth: state 9: position 0 of its input is 9, "
            "expected below 9");
  const std::string confused = FirstBroken(InputThatConfuses());
  EXPECT_TRUE(confused.starts_with("different states have different inputs: state ")) << confused;
  EXPECT_TRUE(confused.ends_with(" have the same input")) << confused;
}

TEST(CheckDomain, ReadsWhatIsWritten) {
  EXPECT_EQ(FirstBroken(TextThatIsReadOtherwise()),
            "states and actions survive the round trip through text: state 9: of the "
            "bytes 8, but its text is read as 9");
  EXPECT_EQ(FirstBroken(OneNameTwice()),
            "action names are different words: two actions are called l");
  EXPECT_EQ(FirstBroken(EverythingIsAState()),
            "what is no state is refused with InputError: ParseState takes '' for a state");
  EXPECT_EQ(FirstBroken(AnotherException()),
            "what is no state is refused with InputError: ParseState of '' throws something else "
            "than InputError: stoi");
}

TEST(CheckDomain, TakesStepsBackForward) {
  const std::string wrong = FirstBroken(StepsBackWrongly());
  EXPECT_TRUE(
      wrong.starts_with("StepBack leads to where an action leads back from: StepBack from "
                        "state "))
      << wrong;
  EXPECT_EQ(FirstBroken(NoWayBack()),
            "random walks can be taken: an exception: domain 'walker': it has no inverse_actions, "
            "so it must override StepBack");
  EXPECT_EQ(FirstBroken(StepsBackByNoAction()),
            "random walks can be taken: an exception: domain 'walker': StepBack returned 65535, "
            "expected an action, from 0 to 1");
}

TEST(CheckDomain, WantsScramblesThatAreNoGoals) {
  const std::string promise = "scrambles lead to states that are no goals: ";
  const std::string always = FirstBroken(PuzzleDomain<LampsThatAreAlwaysRight>("lamps"));
  EXPECT_TRUE(
      always.starts_with(promise + "IsGoal takes every state on the way for a goal, such as "))
      << always;
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatDeclareInversesAndStayOut>("lamps")),
            promise + "no action changes the goal, so there is no other state: state 0 0 0");
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsWithNoStepBack>("lamps")),
            promise + "StepBack leads nowhere from state 0 0 0");
}

TEST(CheckDomain, TellsWhatIsThrownThatIsNoException) {
  const std::string thrown = ": something is thrown that is no std::exception";
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatThrow>("lamps")),
            "states and actions survive the round trip through text" + thrown);
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatThrowInWalks>("lamps")),
            "random walks can be taken" + thrown);
}

TEST(CheckDomain, TellsThatWalksBeginAtNoGoal) {
  for (const DomainCheck& check : CheckDomain(GoalThatIsNone())) {
    if (check.promise != "scrambles can be undone in as many actions") continue;
    EXPECT_EQ(check.broken, "walks begin at what is no goal: state 1");
  }
}

// What the constructor says of a struct.
template <class P>
std::string ErrorOf() {
  try {
    PuzzleDomain<P>("lamps");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Puzzle, TriesItsActionsNearTheGoal) {
  EXPECT_EQ(ErrorOf<Lamps>(), "");
  EXPECT_EQ(ErrorOf<LampsThatCountToThree>(),
            "puzzle 'lamps': byte 0 of state 3 0 0 is 3, expected below kDepth, 2");
  EXPECT_EQ(ErrorOf<LampsOfAnotherInverse>(),
            "puzzle 'lamps': Inverse returned -1, expected an action, from 0 to 2");
  EXPECT_EQ(ErrorOf<LampsThatTurnOnAlone>(),
            "puzzle 'lamps': no action undoes action 0, so the struct must have StepBack");
  const std::string random = ErrorOf<LampsAtRandom>();
  EXPECT_TRUE(random.ends_with(" differs from call to call")) << random;
}

TEST(Puzzle, RefusesToFindTheInverseOfAnActionThatAppliesInNoSample) {
  const std::string leap = ErrorOf<LineWithLeap>();
  EXPECT_TRUE(leap.starts_with("puzzle 'lamps': action 2 changes none of the ")) << leap;
  EXPECT_TRUE(
      leap.ends_with(" states in which it was tried, so its inverse cannot be found. Add `int "
                     "Inverse(int action)` "
                     "to the struct, or StepBack if no action undoes it"))
      << leap;
  EXPECT_EQ(ErrorOf<LampsThatStayOut>().substr(0, 63),
            "puzzle 'lamps': action 0 changes none of the 1 states in which ");
  EXPECT_EQ(ErrorOf<LineWithDeclaredLeap>(), "");
}

TEST(Puzzle, FindsTheInverseOfAnActionThatAppliesOnlyFarFromTheGoal) {
  EXPECT_EQ(PuzzleDomain<Switches<false>>("switches").spec().inverse_actions[20], 13);
  EXPECT_EQ(ErrorOf<Switches<true>>(),
            "puzzle 'lamps': no action undoes action 20, so the struct must have StepBack");
}

TEST(Puzzle, AStepBackIsByAnAction) {
  const std::string start = "random walks can be taken: an exception: puzzle 'lamps': StepBack ";
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatStepBackBy<-1>>("lamps")),
            start + "returned -1, expected an action, from 0 to 2");
  EXPECT_EQ(FirstBroken(PuzzleDomain<LampsThatStepBackBy<65'536>>("lamps")),
            start + "returned 65536, expected an action, from 0 to 2");
}

TEST(Puzzle, IsKnownByItsRulesWhereItNamesThem) {
  EXPECT_EQ(PuzzleDomain<Lamps>("lamps").spec().identity(), "lamps");
  EXPECT_EQ(PuzzleDomain<LampsOfVersionTwo>("lamps").spec().identity(), "lamps@2");
}

}  // namespace
}  // namespace tandem
