#include "tandem/registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "domain/registry.h"
#include "support/path_domain.h"
#include "tandem/error.h"

namespace tandem {
namespace {

std::unique_ptr<const Domain> MakePath(const std::string& cells) {
  return std::make_unique<const PathDomain>(std::stoi(cells));
}

// Domains stay registered, so they are registered once and not in each repetition of a test. The
// list in contract_test.cc has their names.
const bool kRegistered = [] {
  using Made = std::unique_ptr<const Domain>;
  RegisterDomain("registry_test", [] { return MakePath("3"); });
  RegisterDomain("path", {.key = "cells", .default_value = "3"}, MakePath);
  RegisterDomain("other", {.key = "cells", .default_value = "3"}, MakePath);
  RegisterDomain("makes_none", [] { return Made(); });
  RegisterDomain("throws_out", []() -> Made { throw std::out_of_range("vector::at"); });
  RegisterDomain("throws_42", []() -> Made { throw 42; });
  RegisterDomain("throws_43", {.key = "text"}, [](const std::string&) -> Made { throw 43; });
  return true;
}();

template <class Kind = InputError>
std::string ErrorFor(std::string_view name) {
  try {
    MakeDomain(name);
  } catch (const Kind& error) {
    return error.what();
  }
  return "";
}

TEST(Registry, UnknownNameSuggestsTheNearestDomain) {
  EXPECT_NE(ErrorFor("cube33").find("did you mean 'cube3'?"), std::string::npos);
  EXPECT_NE(ErrorFor("cube33").find("one in Python tandem.register_domain"), std::string::npos);
  EXPECT_NE(ErrorFor("npuzle:4").find("no domain is called 'npuzle', did you mean 'npuzzle'?"),
            std::string::npos);
}

TEST(Registry, RejectsANameThatIsAlreadyRegistered) {
  EXPECT_THROW(RegisterDomain("cube3", nullptr), Error);
  EXPECT_THROW(RegisterDomain("npuzzle", {}, nullptr), Error);
}

TEST(Registry, RejectsANameThatNobodyCouldAskFor) {
  EXPECT_THROW(RegisterDomain("my:puzzle", [] { return MakePath("3"); }), Error);
  EXPECT_THROW(RegisterDomain("", [] { return MakePath("3"); }), Error);
}

TEST(Registry, ArgumentAfterTheColonSetsTheParameter) {
  EXPECT_EQ(MakeDomain("npuzzle:3")->spec().name, "npuzzle:3");
  EXPECT_EQ(MakeDomain("npuzzle:3")->spec().state_size, 9);
  EXPECT_EQ(MakeDomain("npuzzle")->spec().name, "npuzzle:4");
  EXPECT_EQ(MakeDomain("cube3")->spec().name, "cube3");
}

TEST(Registry, WrongArgumentErrorSaysWhatIsExpected) {
  EXPECT_EQ(ErrorFor("npuzzle:9"),
            "npuzzle: size is 9, expected a whole number from 2 to 7, or sides that differ: 3x5");
  EXPECT_EQ(
      ErrorFor("npuzzle:"),
      "npuzzle: size is empty, expected a whole number from 2 to 7, or sides that differ: 3x5");
  EXPECT_EQ(ErrorFor("npuzzle:04"),
            "npuzzle: size is 04, expected a whole number from 2 to 7, or sides that differ: 3x5");
  EXPECT_EQ(ErrorFor("npuzzle:4x4"),
            "npuzzle: size is 4x4, expected a whole number from 2 to 7, or sides that differ: 3x5");
  EXPECT_EQ(ErrorFor("cube3:4"), "cube3: input is 4, expected stickers, pieces or pairs");
  EXPECT_EQ(ErrorFor("registry_test:4"),
            "'registry_test:4': registry_test has no parameter; use 'registry_test'");
}

TEST(Registry, FactoryErrorsNameTheDomain) {
  EXPECT_EQ(ErrorFor<Error>("makes_none"),
            "domain 'makes_none': its factory returned null, expected a domain");
  EXPECT_EQ(ErrorFor<Error>("throws_out"), "domain 'throws_out' cannot be made: vector::at");
  EXPECT_EQ(
      ErrorFor<Error>("throws_42"),
      "domain 'throws_42' cannot be made: unknown exception (not derived from std::exception)");
}

TEST(Registry, DomainsThatRefuseAnArgumentByAnyExceptionAreNotSuggested) {
  EXPECT_EQ(DomainThatAccepts("cube4"), "permutation");
  EXPECT_EQ(DomainThatAccepts("no such argument"), std::nullopt);  // "throws_43" throws an int
}

// Models and shards contain the name, and the domain is made again from it.
TEST(Registry, SpecMustHaveTheRegisteredName) {
  EXPECT_EQ(ErrorFor<Error>("registry_test"),
            "domain 'registry_test': its spec has the name 'path', expected 'registry_test'");
  EXPECT_EQ(MakeDomain("path:4")->spec().name, "path");
  EXPECT_EQ(ErrorFor<Error>("other:4"),
            "domain 'other': its spec has the name 'path', expected 'other:4'");
}

TEST(Registry, ParameterOfReturnsTheDeclaredParameter) {
  ASSERT_NE(ParameterOf("npuzzle"), nullptr);
  EXPECT_EQ(ParameterOf("npuzzle")->key, "size");
  EXPECT_EQ(ParameterOf("npuzzle")->default_value, "4");
  EXPECT_EQ(ParameterOf("registry_test"), nullptr);
  EXPECT_EQ(ParameterOf("no such"), nullptr);
  EXPECT_TRUE(AcceptsArgument("npuzzle", "7"));
  EXPECT_FALSE(AcceptsArgument("npuzzle", "8"));
}

// Networks and examples of one puzzle must not be used for another.
TEST(Identity, DifferentNamesAreDifferentPuzzles) {
  EXPECT_TRUE(IsSameDomain("npuzzle:3", "npuzzle:3"));
  EXPECT_FALSE(IsSameDomain("npuzzle:3", "npuzzle:4"));
  EXPECT_FALSE(IsSameDomain("cube3", "cube3:pieces"));
  EXPECT_EQ(DescribeOtherDomain("npuzzle:3", "npuzzle:4"),
            "made for npuzzle:3, expected npuzzle:4");
}

TEST(Identity, RulesFromAFileDecideWhateverItsPath) {
  EXPECT_TRUE(IsSameDomain("permutation:my.yaml@1", "permutation:/home/me/my.yaml@1"));
  EXPECT_TRUE(IsSameDomain("permutation:my.yaml@1", "permutation:/home/me@work/my.yaml@1"));
  EXPECT_FALSE(IsSameDomain("permutation:my.yaml@1", "permutation:my.yaml@2"));
  EXPECT_FALSE(IsSameDomain("permutation:my.yaml@1", "other:my.yaml@1"));
  EXPECT_FALSE(IsSameDomain("permutation:my.yaml@1", "permutation:my.yaml"));
  EXPECT_FALSE(IsSameDomain("npuzzle:3@1", "npuzzle:4@1"));  // sizes, not files
  EXPECT_EQ(DescribeOtherDomain("permutation:my.yaml@1", "permutation:/home/me/my.yaml@2"),
            "made for permutation:my.yaml with other rules (moves, costs or goal)");
  EXPECT_EQ(DescribeOtherDomain("permutation:a.yaml@1", "permutation:b.yaml@2"),
            "made for permutation:a.yaml, expected permutation:b.yaml");
}

}  // namespace
}  // namespace tandem
