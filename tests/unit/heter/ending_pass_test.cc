// The steps without data of a reader.
#include "heter/ending_pass.h"

#include <gtest/gtest.h>

namespace ps::ending_pass_test {
namespace {

TEST(EndingPass, GoesOnAsFarAsOthersHaveData) {
  EndingPass pass;
  EXPECT_FALSE(pass.is_on());
  pass.begin(5);
  EXPECT_TRUE(pass.is_on());
  EXPECT_TRUE(pass.reaches(5)) << "this reader has to say that it has no data";
  EXPECT_FALSE(pass.reaches(6));
  pass.note_data(6);
  EXPECT_TRUE(pass.reaches(7));
  pass.note_data(5);
  EXPECT_TRUE(pass.reaches(7)) << "an answer that comes late takes nothing back";
  EXPECT_FALSE(pass.reaches(8));
  pass.end();
  EXPECT_FALSE(pass.is_on());
}

TEST(EndingPass, TellsEveryStepOnceAndAnotherComputeTrainerAgain) {
  EndingPass pass;
  pass.tell_again_from(9);
  pass.begin(5);
  EXPECT_EQ(pass.advance(), 5u);
  EXPECT_EQ(pass.advance(), 6u);
  EXPECT_EQ(pass.next(), 7u);
  pass.tell_again_from(6);
  EXPECT_EQ(pass.advance(), 6u);
  pass.tell_again_from(3);
  EXPECT_EQ(pass.next(), 5u) << "those before had data";
  pass.begin(11);
  EXPECT_EQ(pass.next(), 11u);
  EXPECT_FALSE(pass.reaches(12));
}

}  // namespace
}  // namespace ps::ending_pass_test
