#include "cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "cli/variables.h"
#include "sample_program.h"

namespace ps::help_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Help, FitsInEightyColumns) {
  Program program = sample_program();
  program.synopsis =
      "KIND [--data FILE|- ...] [--a-long-flag VALUE] [--another-long-flag VALUE] [--yet-another VALUE]";
  program.summary = "do something that takes a good deal more than one line of any terminal to describe";
  program.examples.push_back(
      {.command = "ps-sample count --data one_file.txt --data another_file.txt --save-dir out | less"});
  std::string text = help_text(program);  // `split` returns views into it
  EXPECT_THAT(text, HasSubstr("--save-dir out \\\n    | less\n"));
  for (std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
}

TEST(Help, ShowsEveryVisibleFlagOnceAndNoHiddenOne) {
  Program program = sample_program();
  std::string help = help_text(program);
  for (const Flag& flag : all_flags(program)) {
    std::string row = cat("    ", flag_text(flag.name), flag.argument.empty() ? "" : " ", flag.argument);
    if (flag.letter) row = cat("  -", flag.letter, ", ", flag_text(flag.name));
    EXPECT_EQ(help.find(row) != std::string::npos, !flag.hidden) << flag.name;
  }
}

TEST(Help, TheShortOneShowsWhatIsUsedMostOnAScreen) {
  Program program = sample_program();
  program.flags[0].brief = true;
  std::string text = brief_help_text(program);
  EXPECT_THAT(text, AllOf(HasSubstr("--data"), HasSubstr("--help-all"), Not(HasSubstr("--passes N"))));
  EXPECT_LE(split(text, '\n').size(), 24u);
}

TEST(Help, GroupsStandInOrderOfFirstMentionAndGeneralLast) {
  std::vector<FlagGroup> groups = flag_groups(sample_program());
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].name, "data");
  EXPECT_EQ(groups[1].name, "general");
  EXPECT_EQ(groups[1].flags.back().name, "version");
}

TEST(Help, WrapBreaksAtSpacesAndKeepsLongWords) {
  EXPECT_THAT(wrap("aa bb cc", 5), testing::ElementsAre("aa bb", "cc"));
  EXPECT_THAT(wrap("abcdefgh i", 3), testing::ElementsAre("abcdefgh", "i"));
  EXPECT_THAT(wrap("é é é", 5), testing::ElementsAre("é é é"));
  EXPECT_TRUE(wrap("", 5).empty());
}

TEST(Help, VersionIsOneLine) {
  EXPECT_THAT(version_line(sample_program()),
              testing::MatchesRegex("ps-sample [0-9.]+ \\(.*boost 1\\.[0-9.]+.*\\)\n"));
}

TEST(Manual, NamesEveryVisibleFlagAndEscapesRoff) {
  std::string options = manual_options(sample_program());
  EXPECT_THAT(options, AllOf(HasSubstr(".It Fl p , Fl Fl passes Ar \"N\"\n"), HasSubstr("It's \\e n.\n"),
                             HasSubstr("Overrides\n.Va train.passes\n"), Not(HasSubstr("secret"))));
  EXPECT_THAT(manual_text(".hidden would be lost.  'So would this."), testing::StartsWith("\\&.hidden"));
  EXPECT_THAT(manual_text("First.  'second"), HasSubstr("\n\\&'second\n"));
}

TEST(Completion, OffersFlagsChoicesFilesAndFolders) {
  Program program = sample_program();
  EXPECT_THAT(completion(program, "bash"),
              AllOf(HasSubstr("--passes"), HasSubstr("compgen -W 'auto always never'"),
                    HasSubstr("--data|-d)"), HasSubstr("compgen -d"), Not(HasSubstr("secret"))));
  EXPECT_THAT(completion(program, "zsh"),
              AllOf(HasSubstr("'*--data=[read this file; - is standard input]:FILE:_files'"),
                    HasSubstr(":KIND:(count list)"), Not(HasSubstr("secret"))));
  EXPECT_THAT(
      completion(program, "fish"),
      AllOf(HasSubstr("-s d -l data -r -F"), HasSubstr("-a 'auto always never'"), Not(HasSubstr("secret"))));
  EXPECT_THROW(completion(program, "csh"), Error);
}

TEST(Completion, OffersBeginningsOfValues) {
  const Program program = with_beginnings(sample_program(), "set", [] {
    return std::vector<std::string>{"train.passes=", "job.seed="};
  });
  EXPECT_THAT(completion(program, "bash"), HasSubstr("compopt -o nospace"));
  EXPECT_THAT(completion(program, "zsh"), HasSubstr("train.passes= job.seed="));
  EXPECT_THAT(completion(program, "fish"), HasSubstr("'train.passes= job.seed='"));
}

TEST(Variables, ThoseThatMeanNothingAreNamed) {
  testing::internal::CaptureStderr();
  Log log("ps-sample", LogLevel::kInfo);
  warn_of_unknown_variables(sample_program(), {"PS_BATCH_SIZE", "PS_PASES", "PS_SPILL_DIR", "PS_XYZZY"}, log);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, AllOf(HasSubstr("PS_PASES in the environment is no variable of ps-sample"),
                          HasSubstr("(did you mean 'PS_PASSES'?)"), HasSubstr("PS_XYZZY"),
                          Not(HasSubstr("BATCH_SIZE in")), Not(HasSubstr("SPILL_DIR"))));
}

TEST(Completion, QuotesWhatAShellWouldRead) {
  Program program = sample_program();
  program.flags[0].help = "don't [read]: $this";
  EXPECT_THAT(completion(program, "zsh"), HasSubstr("[don'\\''t \\[read\\]\\: $this]"));
  EXPECT_THAT(completion(program, "fish"), HasSubstr("'don\\'t [read]: $this'"));
}

}  // namespace
}  // namespace ps::help_test
