#include "cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "sample_program.h"

namespace ps::flags_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class FlagsTest : public testing::Test {
 protected:
  Flags parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "count");
    return parse_exactly(arguments);
  }

  Flags parse_exactly(const std::vector<std::string>& arguments) {
    return Flags::parse(program_, arguments, [&](const std::string& name) -> const char* {
      auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    });
  }

  // The message of the usage error that `action` throws.
  template <class Action>
  std::string refusal(Action action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      EXPECT_THAT(error.message(), EndsWith("; try 'ps-sample --help'"));
      return error.message();
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }

  std::string parse_refusal(const std::vector<std::string>& arguments) {
    return refusal([&] { parse(arguments); });
  }

  const Program program_ = sample_program();
  std::map<std::string, std::string> environment_;
};

TEST_F(FlagsTest, LastOfARepeatedScalarWins) {
  EXPECT_EQ(parse({"--passes", "1", "-p", "2", "--passes=3"}).integer("passes"), 3);
  EXPECT_EQ(parse({"--passes=3", "-p2"}).integer("passes"), 2);
}

TEST_F(FlagsTest, RepeatableFlagsKeepAllValuesInOrder) {
  Flags flags = parse({"--data", "a,b", "-d", "c", "--data=-"});
  EXPECT_THAT(flags.values("data"), ElementsAre("a,b", "c", "-"));
  EXPECT_THAT(flags.list("data"), ElementsAre("a", "b", "c", "-"));
}

TEST_F(FlagsTest, FlagBeatsEnvironmentBeatsDefault) {
  EXPECT_EQ(parse({}).integer("batch-size"), 200);
  environment_["PS_BATCH_SIZE"] = "300";
  EXPECT_EQ(parse({}).integer("batch-size"), 300);
  EXPECT_EQ(parse({"--batch-size", "400"}).integer("batch-size"), 400);
  environment_["PS_BATCH_SIZE"] = "";
  EXPECT_EQ(parse({}).integer("batch-size"), 200);
}

TEST_F(FlagsTest, CommandLineListReplacesTheOneOfTheEnvironment) {
  environment_["PS_DATA"] = "x,y";
  EXPECT_THAT(parse({}).list("data"), ElementsAre("x", "y"));
  EXPECT_THAT(parse({"-d", "a", "-d", "b"}).list("data"), ElementsAre("a", "b"));
}

TEST_F(FlagsTest, WithoutAnyValueGettersGiveNothing) {
  Flags flags = parse({});
  EXPECT_EQ(flags.integer("passes"), std::nullopt);
  EXPECT_EQ(flags.text("save-dir"), std::nullopt);
  EXPECT_THAT(flags.list("data"), IsEmpty());
  EXPECT_FALSE(flags.given("passes"));
  EXPECT_FALSE(flags.given("batch-size"));  // a default is not given
}

TEST_F(FlagsTest, SwitchesAreOnWhenTypedOrSetInTheEnvironment) {
  EXPECT_FALSE(parse({}).on("json"));
  EXPECT_TRUE(parse({"--json"}).on("json"));
  environment_["PS_JSON"] = "1";
  EXPECT_TRUE(parse({}).on("json"));
  environment_["PS_JSON"] = "false";
  EXPECT_FALSE(parse({}).on("json"));
}

TEST_F(FlagsTest, DoubleDashEndsFlagsAndSingleDashIsAnArgument) {
  EXPECT_THAT(parse_exactly({"count", "-"}).positionals(), ElementsAre("count", "-"));
  EXPECT_THAT(parse_exactly({"--json", "--", "count", "--passes"}).positionals(),
              ElementsAre("count", "--passes"));
}

TEST_F(FlagsTest, EmptyValuesAreValues) {
  EXPECT_EQ(parse({"--save-dir", ""}).text("save-dir"), "");
  EXPECT_EQ(parse({"--save-dir="}).text("save-dir"), "");
  EXPECT_EQ(parse({"--save-dir=x", "--save-dir=", "--json"}).text("save-dir"), "");
}

TEST_F(FlagsTest, NegativeNumbersAreValues) {
  EXPECT_EQ(parse({"--rate", "-0.5"}).number("rate"), -0.5);
}

TEST_F(FlagsTest, UnitsAreUnderstood) {
  Flags flags = parse({"--memory", "1.5G", "--period", "250ms"});
  EXPECT_EQ(flags.bytes("memory"), 1536ull << 20);
  EXPECT_EQ(flags.seconds("period"), 0.25);
  for (const char* text : {"1500000", "1.5M", "1500k", "15e5"}) {
    EXPECT_EQ(parse({"--passes", text}).integer("passes"), 1500000) << text;
    EXPECT_EQ(parse({"--passes", text}).unsigned_integer("passes"), 1500000u) << text;
  }
}

TEST_F(FlagsTest, BadValuesAreRefusedByTheNameThatWasTyped) {
  EXPECT_THAT(refusal([&] {
                parse({"-p", "2x"}).integer("passes");
              }),
              HasSubstr("-p: '2x' is not an integer"));
  EXPECT_THAT(refusal([&] { parse({"--passes=0"}).integer("passes", 1); }),
              HasSubstr("--passes: 0 is too small, expected at least 1"));
  EXPECT_THAT(refusal([&] { parse({"--passes=9"}).integer("passes", 1, 8); }),
              HasSubstr("--passes: 9 is too large, expected at most 8"));
  environment_["PS_RATE"] = "fast";
  EXPECT_THAT(refusal([&] { parse({}).number("rate"); }), HasSubstr("PS_RATE: 'fast' is not a number"));
}

TEST_F(FlagsTest, NumbersOutsideTheTypeAreRefused) {
  for (const char* text : {"nan", "inf", "1e309", "", " 1", "0x10", "1,5"}) {
    EXPECT_THROW(parse({"--rate", text}).number("rate"), Error) << text;
  }
  for (const char* text : {"9223372036854775808", "1.5", "1.5e0", "1Q", "k", "1e300", "--"}) {
    EXPECT_THROW(parse({"--passes", text}).integer("passes"), Error) << text;
  }
  EXPECT_THROW(parse({"--passes", "-1"}).unsigned_integer("passes"), Error);
  for (const char* text : {"-1", "1Q", "99999999T", "K"}) {
    EXPECT_THROW(parse({"--memory", text}).bytes("memory"), Error) << text;
  }
  for (const char* text : {"-1s", "5 m", "1d", "ms"}) {
    EXPECT_THROW(parse({"--period", text}).seconds("period"), Error) << text;
  }
}

TEST_F(FlagsTest, AbbreviationsAreNotGuessedButSuggested) {
  EXPECT_THAT(parse_refusal({"--passe", "1"}),
              HasSubstr("unknown flag '--passe' (did you mean '--passes'?)"));
  EXPECT_THAT(parse_refusal({"-z"}), HasSubstr("unknown flag '-z'"));
}

TEST_F(FlagsTest, MissingAndSurplusValuesAreNamed) {
  EXPECT_THAT(parse_refusal({"--passes"}), HasSubstr("'--passes' needs a value"));
  EXPECT_THAT(parse_refusal({"--json=1"}), HasSubstr("'--json' takes no value"));
  EXPECT_THAT(parse_refusal({"--json="}), HasSubstr("'--json"));
}

TEST_F(FlagsTest, ChoicesAreChecked) {
  EXPECT_THAT(parse_refusal({"--progress", "nevr"}),
              HasSubstr("--progress: unknown value 'nevr' (did you mean 'never'?)"));
  EXPECT_THAT(refusal([&] { parse_exactly({"cuont"}); }), HasSubstr("KIND: unknown value 'cuont'"));
}

TEST_F(FlagsTest, PositionalArgumentsAreCounted) {
  EXPECT_THAT(refusal([&] { parse_exactly({}); }), HasSubstr("missing KIND"));
  EXPECT_THAT(refusal([&] {
                parse_exactly({"count", "job.json", "more"});
              }),
              HasSubstr("unexpected argument 'more'"));
  EXPECT_TRUE(parse_exactly({"--list-kinds"}).on("list-kinds"));
}

TEST_F(FlagsTest, OverridesComeInOrderOfPrecedence) {
  environment_["PS_PASSES"] = "5";
  std::vector<Override> overrides =
      parse({"--set", "train.passes=6", "--passes", "7", "--set", "a.b=c=d"}).overrides();
  ASSERT_EQ(overrides.size(), 4u);
  EXPECT_EQ(overrides[0].typed, "PS_PASSES");
  EXPECT_THAT(overrides[1].values, ElementsAre("6"));
  EXPECT_TRUE(overrides[1].is_set);
  EXPECT_EQ(overrides[2].key, "train.passes");
  EXPECT_THAT(overrides[2].values, ElementsAre("7"));
  EXPECT_EQ(overrides[3].key, "a.b");
  EXPECT_THAT(overrides[3].values, ElementsAre("c=d"));
}

TEST_F(FlagsTest, ASwitchOverridesWithTrue) {
  Program program = program_;
  program.flags.push_back({.name = "by-servers", .help = "let servers save", .job_key = "train.by_servers"});
  const std::vector<std::string> arguments = {"count", "--by-servers"};
  const Flags flags = Flags::parse(program, arguments, [](const std::string&) { return nullptr; });
  ASSERT_EQ(flags.overrides().size(), 1u);
  EXPECT_THAT(flags.overrides()[0].values, ElementsAre("true"));
}

TEST_F(FlagsTest, SetWithoutAKeyIsRefused) {
  EXPECT_THAT(parse_refusal({"--set", "passes"}), HasSubstr("--set 'passes': expected KEY=VALUE"));
  EXPECT_THAT(parse_refusal({"--set", "=1"}), HasSubstr("expected KEY=VALUE"));
}

TEST_F(FlagsTest, UnknownFlagInAGetterIsOurMistake) {
  EXPECT_DEATH(parse({}).text("no-such"), "check failed");
}

}  // namespace
}  // namespace ps::flags_test
